/* Runs one model at several shapes with nothing but pliant.h and the runtime library.
 *
 *   infer MODEL.pliant SYMBOLS...      for example: infer bert.pliant batch=1,seq=37 batch=4,seq=128
 *
 * Every argument after the model gives the model's symbols one set of values, and is one run. Inputs are filled with small
 * whole numbers. Printed for each output: its shape, the sum of its values, and the time of the run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pliant.h"

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, pliant_last_error());
  return 1;
}

/* The value of `name` in "a=1,b=2"; 0 when it is not there. */
static int find_symbol(const char* symbols, const char* name, int64_t* value) {
  size_t length = strlen(name);
  for (const char* p = symbols; p != NULL; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
    if (strncmp(p, name, length) != 0 || p[length] != '=') continue;
    *value = strtoll(p + length + 1, NULL, 10);
    return 1;
  }
  return 0;
}

static void fill(void* data, int32_t dtype, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int v = (int)(i % 7);
    switch (dtype) {
      case PLIANT_F32: ((float*)data)[i] = (float)v; break;
      case PLIANT_F64: ((double*)data)[i] = v; break;
      case PLIANT_I64: ((int64_t*)data)[i] = v; break;
      case PLIANT_I32: ((int32_t*)data)[i] = v; break;
      case PLIANT_BOOL: ((uint8_t*)data)[i] = (uint8_t)(v & 1); break;
      default: break; /* zeros */
    }
  }
}

static double sum(const void* data, int32_t dtype, size_t count) {
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    switch (dtype) {
      case PLIANT_F32: total += ((const float*)data)[i]; break;
      case PLIANT_F64: total += ((const double*)data)[i]; break;
      case PLIANT_I64: total += (double)((const int64_t*)data)[i]; break;
      case PLIANT_I32: total += ((const int32_t*)data)[i]; break;
      default: total += ((const uint8_t*)data)[i * pliant_dtype_size(dtype)]; break;
    }
  }
  return total;
}

/* Makes input `index` at the shape that the symbols give. */
static int make_input(const pliant_model* model, size_t index, const char* symbols, pliant_input* input, int64_t* shape) {
  pliant_tensor_info info = {sizeof info, NULL, 0, 0, NULL, NULL, 0};
  if (pliant_describe_input(model, index, &info) != PLIANT_OK) return fail("input");
  size_t count = 1;
  for (int32_t d = 0; d < info.rank; ++d) {
    shape[d] = info.sizes[d];
    if (shape[d] < 0 && !find_symbol(symbols, info.symbols[d], &shape[d])) {
      fprintf(stderr, "\"%s\" gives no value for axis %d of input \"%s\": %s\n", symbols, (int)d, info.name,
              info.symbols[d]);
      return 1;
    }
    count *= (size_t)shape[d];
  }
  void* data = calloc(count + 1, pliant_dtype_size(info.dtype));
  if (data == NULL) return 1;
  fill(data, info.dtype, count);
  input->name = info.name;
  input->data = data;
  input->dtype = info.dtype;
  input->rank = info.rank;
  input->shape = shape;
  return 0;
}

static int run(pliant_model* model, const char* symbols) {
  size_t input_count = pliant_input_count(model), output_count = pliant_output_count(model);
  pliant_input* inputs = calloc(input_count + 1, sizeof *inputs);
  pliant_output* outputs = calloc(output_count + 1, sizeof *outputs);
  int64_t* shapes = calloc(input_count + 1, sizeof(int64_t) * PLIANT_MAX_RANK);
  int status = inputs == NULL || outputs == NULL || shapes == NULL;
  for (size_t i = 0; status == 0 && i < input_count; ++i)
    status = make_input(model, i, symbols, &inputs[i], shapes + i * PLIANT_MAX_RANK);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (status == 0 && pliant_run(model, inputs, input_count, outputs, output_count) != PLIANT_OK) status = fail(symbols);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (status == 0)
    printf("%s: %.3f ms\n", symbols,
           (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
  for (size_t i = 0; status == 0 && i < output_count; ++i) {
    pliant_tensor_info info = {sizeof info, NULL, 0, 0, NULL, NULL, 0};
    pliant_describe_output(model, i, &info);
    size_t count = 1;
    printf("  %s: %s[", info.name, pliant_dtype_name(outputs[i].dtype));
    for (int32_t d = 0; d < outputs[i].rank; ++d) {
      printf(d > 0 ? ", %" PRId64 : "%" PRId64, outputs[i].shape[d]);
      count *= (size_t)outputs[i].shape[d];
    }
    printf("] sum %.6g\n", sum(outputs[i].data, outputs[i].dtype, count));
    pliant_release_buffer(outputs[i].buffer);
  }
  for (size_t i = 0; inputs != NULL && i < input_count; ++i) free((void*)inputs[i].data);
  free(inputs);
  free(outputs);
  free(shapes);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.pliant [SYMBOL=N,...]...\n", argv[0]);
    return 2;
  }
  pliant_model* model = NULL;
  if (pliant_load_file(argv[1], NULL, &model) != PLIANT_OK) return fail(argv[1]);
  int status = 0;
  for (int i = 2; status == 0 && i < argc; ++i) status = run(model, argv[i]);
  if (argc == 2) status = run(model, "");
  pliant_release_model(model);
  return status;
}
