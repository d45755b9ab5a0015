/* Pliant's runtime: loads a .pliant file and runs it at any shape.
 *
 * Plain C. Functions and enumerators are only ever added; structs that may grow begin with `struct_size`, which the caller
 * sets to sizeof of what it was compiled with. All texts are UTF-8 and end in a zero byte.
 *
 * Threads: a loaded model may be run, described and released buffers by any number of threads at once; pliant_release_model
 * must be the last call on it. Buffers may outlive their model.
 *
 *   pliant_model* model = NULL;
 *   if (pliant_load_file("model.pliant", NULL, &model) != PLIANT_OK) { puts(pliant_last_error()); ... }
 *   int64_t shape[2] = {4, 37};
 *   pliant_input in = {"ids", ids, PLIANT_I64, 2, shape};
 *   pliant_output out = {0};
 *   if (pliant_run(model, &in, 1, &out, 1) != PLIANT_OK) { puts(pliant_last_error()); ... }
 *   use(out.data, out.shape, out.rank);
 *   pliant_release_buffer(out.buffer);
 *   pliant_release_model(model);
 */
#ifndef PLIANT_H
#define PLIANT_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PLIANT_API __attribute__((visibility("default")))
#else
#define PLIANT_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define PLIANT_ABI_VERSION 1
#define PLIANT_MAX_RANK 32

/* The version that the library implements: at least the caller's PLIANT_ABI_VERSION, or the caller is too new for it. */
PLIANT_API uint32_t pliant_abi_version(void);
/* The release, for example "0.1.0". */
PLIANT_API const char* pliant_version(void);

typedef enum pliant_status {
  PLIANT_OK = 0,
  PLIANT_INVALID_ARGUMENT = 1, /* a call that breaks this header's rules */
  PLIANT_FILE_ERROR = 2,       /* the file cannot be opened or read */
  PLIANT_BAD_ARTIFACT = 3,     /* not a .pliant file, damaged, or of another version */
  PLIANT_UNSUPPORTED_CPU = 4,  /* the artifact needs CPU features that this machine lacks */
  PLIANT_BAD_INPUT = 5,        /* missing, unknown, or of the wrong type, rank or size */
  PLIANT_RUN_FAULT = 6,        /* the model failed on these values, for example an index out of range */
  PLIANT_OUT_OF_MEMORY = 7,
  PLIANT_BUFFER_TOO_SMALL = 8, /* an output buffer of the caller's; the output's dtype, rank and shape are filled in */
  PLIANT_CANCELLED = 9         /* the run was ended by pliant_cancel or by its stop flag */
} pliant_status;
/* A short lower-case name of a status. */
PLIANT_API const char* pliant_status_name(pliant_status status);
/* What went wrong in this thread's last failed call: one sentence; empty when none failed. Valid until its next failed call.
 */
PLIANT_API const char* pliant_last_error(void);

typedef enum pliant_dtype {
  PLIANT_BOOL = 0, /* one byte an element, 0 or 1 */
  PLIANT_I8 = 1,
  PLIANT_I16 = 2,
  PLIANT_I32 = 3,
  PLIANT_I64 = 4,
  PLIANT_U8 = 5,
  PLIANT_U16 = 6,
  PLIANT_U32 = 7,
  PLIANT_U64 = 8,
  PLIANT_F16 = 9,
  PLIANT_BF16 = 10,
  PLIANT_F32 = 11,
  PLIANT_F64 = 12
} pliant_dtype;
/* Bytes of one element; 0 for a value that is no dtype. */
PLIANT_API size_t pliant_dtype_size(int32_t dtype);
/* "bool", "i8" … "f64"; "?" for a value that is no dtype. */
PLIANT_API const char* pliant_dtype_name(int32_t dtype);

/* ---- loading ----
 *
 * An artifact is a program: its native code runs with all that this process may do. Load only what you trust. What the
 * loader refuses, and what it therefore cannot be made to do by a file whose code is sound, is told in docs/artifact.md. */

typedef struct pliant_model pliant_model;

enum {
  /* Do not compute the file's SHA-256. The tables are still verified; code and constants are taken on trust. */
  PLIANT_LOAD_SKIP_DIGEST = 1,
  /* Copy the constants to memory that may use huge pages, instead of using them where the file is mapped: faster for models
   * much larger than the caches, at the price of private memory. */
  PLIANT_LOAD_HUGE_PAGES = 2,
  /* As PLIANT_LOAD_HUGE_PAGES for constants of 1 MiB to 256 MiB: what caches may hold gains most, and more memory than that
   * is better shared between processes. The command line and the Python package load this way. */
  PLIANT_LOAD_CHOOSE_PAGES = 4,
  /* For finding faults of the compiler and the runtime: runs are slow, take more memory, and end with PLIANT_RUN_FAULT where
   * a kernel or function writes outside its buffers. What is read before anything wrote it is no number. */
  PLIANT_LOAD_CHECK_MEMORY = 8
};
typedef struct pliant_load_options {
  size_t struct_size;
  int32_t threads; /* of one run; 0: as many as the machine, its affinity mask and its CPU quota allow */
  uint32_t flags;
  uint64_t memory_limit; /* of runs that give none of their own; 0: none */
} pliant_load_options;

/* `options` may be NULL. A file of up to 1 MiB is read. A larger one is mapped: it must not be cut short or written to while
 * the model is loaded, or reading it ends the process with SIGBUS; replacing it by another file under its name is fine. */
PLIANT_API pliant_status pliant_load_file(const char* path, const pliant_load_options* options, pliant_model** model);
/* From memory at a multiple of 64 that stays valid and unchanged until the model is released: constants are used in place.
 * At any other address, and with PLIANT_LOAD_HUGE_PAGES, the constants are copied and the memory is not needed after the
 * call. */
PLIANT_API pliant_status pliant_load_memory(const void* data, size_t size, const pliant_load_options* options,
                                            pliant_model** model);
PLIANT_API void pliant_release_model(pliant_model* model);
/* The bytes of the file that the model was loaded from, valid until it is released; NULL and 0 for a model from memory. */
PLIANT_API pliant_status pliant_loaded_file(const pliant_model* model, const void** data, size_t* size);

/* ---- descriptions: pointers stay valid until the model is released ---- */

/* What an input or output is. An optional holds a tensor or nothing, an optional sequence a sequence or nothing. Axes of any
 * size in the elements have the size -1 and the symbol "?". */
typedef enum pliant_kind {
  PLIANT_TENSOR = 0,
  PLIANT_SEQUENCE = 1,
  PLIANT_OPTIONAL = 2,
  PLIANT_OPTIONAL_SEQUENCE = 3
} pliant_kind;
typedef struct pliant_tensor_info {
  size_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;       /* of each axis; -1 where it depends on the inputs */
  const char* const* symbols; /* of each axis, as text: "batch", "2*n + 1", "224" */
  int32_t optional;           /* 1 for an input that has a default value, and for an optional */
  int32_t kind;               /* pliant_kind; dtype, rank and axes are those of the elements unless it is a tensor */
  int32_t any_rank;           /* 1: the elements may have any number of axes; rank is 0 then */
} pliant_tensor_info;
PLIANT_API size_t pliant_input_count(const pliant_model* model);
PLIANT_API size_t pliant_output_count(const pliant_model* model);
PLIANT_API pliant_status pliant_describe_input(const pliant_model* model, size_t index, pliant_tensor_info* info);
PLIANT_API pliant_status pliant_describe_output(const pliant_model* model, size_t index, pliant_tensor_info* info);

/* A symbol that the inputs give, with its allowed values. */
typedef struct pliant_symbol_info {
  size_t struct_size;
  const char* name;
  int64_t min, max, multiple_of;
} pliant_symbol_info;
PLIANT_API size_t pliant_symbol_count(const pliant_model* model);
PLIANT_API pliant_status pliant_describe_symbol(const pliant_model* model, size_t index, pliant_symbol_info* info);

typedef struct pliant_model_info {
  size_t struct_size;
  const char* model;     /* the source model's name */
  const char* producer;  /* "pliant 0.1.0" */
  const char* precision; /* "fp32" */
  const char* target;    /* of the variant that was chosen: "x86-64-v4" */
  int32_t threads;       /* of one run */
  uint64_t constant_bytes, code_bytes;
  uint8_t digest[32]; /* the file's */
} pliant_model_info;
PLIANT_API pliant_status pliant_describe_model(const pliant_model* model, pliant_model_info* info);

/* Counters since loading. */
typedef struct pliant_stats {
  size_t struct_size;
  uint64_t runs, plan_hits, plan_misses;
  uint64_t states;      /* execution states made: the most runs that were in flight at once */
  uint64_t arena_bytes; /* committed for intermediate tensors and scratch by the states not in flight just now */
  uint64_t peak_bytes;  /* the largest plan of intermediate tensors so far */
} pliant_stats;
PLIANT_API pliant_status pliant_read_stats(const pliant_model* model, pliant_stats* stats);

/* ---- running ---- */

/* Memory that a run allocated for an output: 64-byte aligned, counted references. */
typedef struct pliant_buffer pliant_buffer;
PLIANT_API void pliant_retain_buffer(pliant_buffer* buffer);
PLIANT_API void pliant_release_buffer(pliant_buffer* buffer); /* NULL is allowed */

/* A dense row-major tensor of the caller's, aligned to its element size; `data` may be NULL when an axis is 0. */
typedef struct pliant_input {
  const char* name; /* NULL: the model's input at this position of the array */
  const void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape; /* `rank` sizes */
} pliant_input;

typedef struct pliant_output {
  void* data;                     /* in: NULL, or a buffer of the caller's, 64-byte aligned; out: the values */
  uint64_t capacity;              /* in: bytes at `data`; not changed */
  pliant_buffer* buffer;          /* in: ignored; out: the owner of `data` when the runtime allocated it, else NULL */
  int32_t dtype;                  /* out */
  int32_t rank;                   /* out */
  int64_t shape[PLIANT_MAX_RANK]; /* out */
} pliant_output;

/* Runs the model once. Inputs may come in any order when named; those with a default may be left out. `outputs` has one
 * element for each output of the model, in order; start from zeroed structs. After a failure no output holds a buffer of the
 * runtime. */
PLIANT_API pliant_status pliant_run(pliant_model* model, const pliant_input* inputs, size_t input_count,
                                    pliant_output* outputs, size_t output_count);

/* A sequence or an optional for a run. The tensors must stay as they are until it returns. */
typedef struct pliant_list_input {
  const char* name;            /* NULL: the model's k-th input that is no tensor, k the position in the array */
  int32_t is_present;          /* 0: an optional that holds nothing */
  size_t count;                /* of an optional tensor 1 */
  const pliant_input* tensors; /* `count`; their names are not looked at */
} pliant_list_input;

/* A sequence or an optional that a run gave. */
typedef struct pliant_list pliant_list;
PLIANT_API int32_t pliant_list_is_present(const pliant_list* list); /* 0: an optional that holds nothing */
PLIANT_API size_t pliant_list_size(const pliant_list* list);        /* of an optional tensor 1 */
/* One tensor; tensor->buffer gets a reference of its own, which keeps the values when the list is released. */
PLIANT_API pliant_status pliant_list_get(const pliant_list* list, size_t index, pliant_output* tensor);
PLIANT_API void pliant_release_list(pliant_list* list); /* NULL is allowed */

typedef struct pliant_run_options {
  size_t struct_size;
  /* The run ends soon after another thread makes this not 0, with PLIANT_CANCELLED. NULL: a flag of the run's own, for
   * pliant_cancel. Must stay valid until the run returns. */
  int32_t* stop;
  /* The most bytes of intermediate and growing tensors and of outputs that the runtime allocates; a run that needs more ends
   * with PLIANT_OUT_OF_MEMORY. 0: what the load options say. */
  uint64_t memory_limit;
  const pliant_list_input* lists; /* the inputs that are sequences and optionals; an optional may be left out */
  size_t list_count;
  /* One for each output of the model, in order, or NULL when none is a sequence or an optional. Out: the value, to be
   * released with pliant_release_list; NULL where the output is a tensor, and after a failure. The pliant_output of such an
   * output is left alone. */
  pliant_list** list_outputs;
  /* Of the random numbers that the model draws without a seed of its own: equal seeds give equal numbers, whatever the
   * number of threads. NULL: numbers that no other run of the process gets. */
  const uint64_t* seed;
} pliant_run_options;
/* As pliant_run. `options` may be NULL. */
PLIANT_API pliant_status pliant_run_with(pliant_model* model, const pliant_input* inputs, size_t input_count,
                                         pliant_output* outputs, size_t output_count, const pliant_run_options* options);
/* Ends all runs of the model that are in flight now; the stop flags that they were given become 1. The model can be used as
 * before. */
PLIANT_API void pliant_cancel(pliant_model* model);

/* ---- DLPack (its structs come from dlpack.h, or any equal declaration) ---- */

struct DLManagedTensor;
struct DLManagedTensorVersioned;
/* Views a tensor as an input without taking it over: `tensor` must outlive the use of `input`. Only dense CPU tensors of one
 * lane. */
PLIANT_API pliant_status pliant_input_from_dlpack(const struct DLManagedTensor* tensor, pliant_input* input);
PLIANT_API pliant_status pliant_input_from_dlpack_versioned(const struct DLManagedTensorVersioned* tensor,
                                                            pliant_input* input);
/* Moves an output that the runtime allocated into a tensor whose deleter frees it; output->buffer and data become NULL. */
PLIANT_API pliant_status pliant_output_to_dlpack(pliant_output* output, struct DLManagedTensor** tensor);
PLIANT_API pliant_status pliant_output_to_dlpack_versioned(pliant_output* output, struct DLManagedTensorVersioned** tensor);

/* ---- the machine ---- */

/* 1 when the CPU has the feature ("avx512f"), 0 when not, -1 for a name that is not known. */
PLIANT_API int32_t pliant_cpu_has(const char* feature);
/* How many threads a run uses by default. */
PLIANT_API int32_t pliant_default_threads(void);

#ifdef __cplusplus
}
#endif
#endif
