// For each batch and class: boxes in order of score, each kept unless it overlaps one already kept by more than the
// threshold.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/library/keys.h"
#include "runtime/library/library.h"
#include "runtime/library/ranked.h"
#include "runtime/values/elements.h"

namespace pliant::runtime {
namespace {

struct Box {
  float y0, x0, y1, x1, area;
};

// Any two opposite corners, or centre and size.
Box make_box(const float* p, bool center) {
  float y0, x0, y1, x1;
  if (center) {
    y0 = p[1] - p[3] / 2, y1 = p[1] + p[3] / 2;
    x0 = p[0] - p[2] / 2, x1 = p[0] + p[2] / 2;
  } else {
    y0 = std::min(p[0], p[2]), y1 = std::max(p[0], p[2]);
    x0 = std::min(p[1], p[3]), x1 = std::max(p[1], p[3]);
  }
  return {y0, x0, y1, x1, (y1 - y0) * (x1 - x0)};
}

// Eight boxes, one a lane.
constexpr int64_t kLanes = 8;
struct BoxLanes {
  alignas(32) float y0[kLanes], x0[kLanes], y1[kLanes], x1[kLanes], area[kLanes];
};

// Lanes that lie apart from every box.
BoxLanes make_empty_lanes() {
  BoxLanes out = {};
  std::fill_n(out.y0, kLanes, 1.0f);
  return out;
}

void put(BoxLanes& lanes, int64_t lane, const Box& b) {
  lanes.y0[lane] = b.y0, lanes.x0[lane] = b.x0, lanes.y1[lane] = b.y1, lanes.x1[lane] = b.x1, lanes.area[lane] = b.area;
}

// Whether the intersection of `b` with one of the boxes is more than `threshold` of their union. The two forms round alike.
using OverlapsAny = bool (*)(const BoxLanes* lanes, int64_t groups, const Box& b, float threshold);

bool overlaps_any(const BoxLanes* lanes, int64_t groups, const Box& b, float threshold) {
  for (int64_t g = 0; g < groups; ++g) {
    const BoxLanes& k = lanes[g];
    for (int64_t i = 0; i < kLanes; ++i) {
      const float height = std::min(k.y1[i], b.y1) - std::max(k.y0[i], b.y0);
      const float width = std::min(k.x1[i], b.x1) - std::max(k.x0[i], b.x0);
      const float common = height * width, all = k.area[i] + b.area - common;
      if (height > 0 && width > 0 && all > 0 && common / all > threshold) return true;
    }
  }
  return false;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] bool overlaps_any_avx2(const BoxLanes* lanes, int64_t groups, const Box& b, float threshold) {
  const __m256 y0 = _mm256_set1_ps(b.y0), x0 = _mm256_set1_ps(b.x0), y1 = _mm256_set1_ps(b.y1), x1 = _mm256_set1_ps(b.x1);
  const __m256 area = _mm256_set1_ps(b.area), least = _mm256_set1_ps(threshold), zero = _mm256_setzero_ps();
  for (int64_t g = 0; g < groups; ++g) {
    const BoxLanes& k = lanes[g];
    const __m256 height = _mm256_sub_ps(_mm256_min_ps(_mm256_load_ps(k.y1), y1), _mm256_max_ps(_mm256_load_ps(k.y0), y0));
    const __m256 width = _mm256_sub_ps(_mm256_min_ps(_mm256_load_ps(k.x1), x1), _mm256_max_ps(_mm256_load_ps(k.x0), x0));
    const __m256 meets = _mm256_and_ps(_mm256_cmp_ps(height, zero, _CMP_GT_OQ), _mm256_cmp_ps(width, zero, _CMP_GT_OQ));
    if (_mm256_movemask_ps(meets) == 0) continue;
    const __m256 common = _mm256_mul_ps(height, width);
    const __m256 all = _mm256_sub_ps(_mm256_add_ps(_mm256_load_ps(k.area), area), common);
    const __m256 much =
        _mm256_and_ps(_mm256_cmp_ps(all, zero, _CMP_GT_OQ), _mm256_cmp_ps(_mm256_div_ps(common, all), least, _CMP_GT_OQ));
    if (_mm256_movemask_ps(_mm256_and_ps(meets, much)) != 0) return true;
  }
  return false;
}
OverlapsAny choose_overlaps_any() { return __builtin_cpu_supports("avx2") ? overlaps_any_avx2 : overlaps_any; }
#else
OverlapsAny choose_overlaps_any() { return overlaps_any; }
#endif

// The boxes of one class that its scores allow, the best first, put in order as far as they are asked for.
template <class Rank>
class Candidates {
 public:
  using Key = typename Rank::Key;
  Candidates(StopFlag flag, int64_t wanted, Rank* ranks)
      : flag_(flag), ranks_(ranks), step_(std::max<int64_t>(wanted, 32)) {}
  // `keys` and the ranks hold one for each score. Scores that are not numbers, or not above *least, are left out.
  pliant_status find(const float* scores, int64_t n, const float* least, Key* keys) {
    const KeySource from{DType::F32, reinterpret_cast<const std::byte*>(scores), n, 1, 1};
    PLIANT_TRY(fill_keys(flag_, from, static_cast<Key>(-1), n, keys));
    return flag_.in_turns(n, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ranks_[count_] = Rank::of(keys[i], i);
        count_ += !std::isnan(scores[i]) && (least == nullptr || scores[i] > *least);
      }
    });
  }
  int64_t count() const { return count_; }
  pliant_status get(int64_t i, int64_t& index) {
    while (i >= sorted_) PLIANT_TRY(sort_more());
    index = ranks_[i].index();
    return PLIANT_OK;
  }

 private:
  pliant_status sort_more() {
    const int64_t end = std::min(count_, sorted_ + step_);
    if (end < count_) PLIANT_TRY(select_nth(flag_, ranks_ + sorted_, end - sorted_, count_ - sorted_));
    PLIANT_TRY(sort_in_place(flag_, ranks_ + sorted_, end - sorted_));
    sorted_ = end;
    step_ *= 2;
    return PLIANT_OK;
  }

  StopFlag flag_;
  Rank* ranks_;
  int64_t count_ = 0, sorted_ = 0, step_;
};

struct Inputs {
  const float *boxes, *scores;
  int64_t batches, n, classes;
  bool center;
  int64_t most;        // boxes of a class
  float overlap;       // more than this suppresses
  const float* least;  // null: no limit of scores
};

// The boxes that are kept, [batch, class, index] each, in blocks of which each has twice the one before: their number is
// known when all are found.
class Selection {
 public:
  pliant_status add(LibraryCall& call, int64_t batch, int64_t box_class, int64_t index) {
    if (used_ == size_of(block_count_ - 1)) {
      blocks_[block_count_] = call.room<Triple>(static_cast<uint64_t>(size_of(block_count_)));
      if (blocks_[block_count_] == nullptr) return PLIANT_OUT_OF_MEMORY;
      ++block_count_;
      used_ = 0;
    }
    blocks_[block_count_ - 1][used_++] = {batch, box_class, index};
    ++count_;
    return PLIANT_OK;
  }
  // To output 0, whose first axis is result 0.
  pliant_status write(LibraryCall& call) const {
    if (!call.results.empty()) call.results[0] = count_;
    PLIANT_TRY(call.require_output(0, DType::I64, 3 * static_cast<uint64_t>(count_)));
    std::byte* to = call.outputs[0].data;
    for (int b = 0; b < block_count_; ++b) {
      const auto bytes = static_cast<size_t>(b + 1 < block_count_ ? size_of(b) : used_) * sizeof(Triple);
      PLIANT_TRY(copy_bytes(to, reinterpret_cast<const std::byte*>(blocks_[b]), bytes, call.stop));
      to += bytes;
    }
    return PLIANT_OK;
  }

 private:
  struct Triple {
    int64_t batch, box_class, index;
  };
  static int64_t size_of(int block) { return block < 0 ? 0 : int64_t{256} << block; }
  Triple* blocks_[48];
  int block_count_ = 0;
  int64_t used_ = 0, count_ = 0;  // of the last block; in all
};

template <class Rank>
pliant_status suppress(LibraryCall& call, const Inputs& in) {
  auto* keys = call.room<typename Rank::Key>(static_cast<uint64_t>(in.n));
  auto* ranks = call.room<Rank>(static_cast<uint64_t>(in.n));
  auto* kept = call.room<BoxLanes>(static_cast<uint64_t>(in.most + kLanes - 1) / kLanes);
  if (keys == nullptr || ranks == nullptr || kept == nullptr) return PLIANT_OUT_OF_MEMORY;
  const OverlapsAny overlaps_part = choose_overlaps_any();
  TurnCounter turns(call.stop);
  // In parts, since as many boxes as there are may be kept. What it gives once the run is to end does not matter.
  auto overlaps = [&](int64_t groups, const Box& box) {
    constexpr int64_t kPart = 4096;
    for (int64_t g = 0; g < groups; g += kPart) {
      const int64_t n = std::min(kPart, groups - g);
      if (turns.is_over(n * 4 + 16) || overlaps_part(kept + g, n, box, in.overlap)) return true;
    }
    return false;
  };
  Selection kept_boxes;
  for (int64_t b = 0; b < in.batches; ++b)
    for (int64_t c = 0; c < in.classes; ++c) {
      if (turns.is_over(64)) return cancelled();
      Candidates<Rank> candidates(call.stop, in.most, ranks);
      PLIANT_TRY(candidates.find(in.scores + (b * in.classes + c) * in.n, in.n, in.least, keys));
      int64_t selected = 0;
      for (int64_t i = 0; i < candidates.count() && selected < in.most; ++i) {
        if (turns.is_over(64)) return cancelled();
        int64_t index;
        PLIANT_TRY(candidates.get(i, index));
        const Box box = make_box(in.boxes + (b * in.n + index) * 4, in.center);
        if (overlaps((selected + kLanes - 1) / kLanes, box)) continue;
        if (selected % kLanes == 0) kept[selected / kLanes] = make_empty_lanes();
        put(kept[selected / kLanes], selected % kLanes, box);
        ++selected;
        PLIANT_TRY(kept_boxes.add(call, b, c, index));
      }
    }
  return kept_boxes.write(call);
}

}  // namespace

pliant_status library_non_max_suppression(LibraryCall& call) {
  const LibraryInput &boxes = call.inputs[0], &scores = call.inputs[1];
  if (boxes.dtype != DType::F32 || scores.dtype != DType::F32) return call.fault("boxes and scores must be f32");
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    return call.fault("boxes must be [batch, n, 4] and scores [batch, classes, n]");
  Inputs in{};
  in.boxes = reinterpret_cast<const float*>(boxes.data);
  in.scores = reinterpret_cast<const float*>(scores.data);
  in.batches = boxes.shape[0], in.n = boxes.shape[1], in.classes = scores.shape[1];
  in.center = call.ints[0] != 0;
  auto scalar = [&](size_t i) {
    return call.inputs.size() > i && call.inputs[i].elements == 1 ? call.inputs[i].data : nullptr;
  };
  float thresholds[2] = {};
  for (size_t i = 3; i < 5; ++i) {
    if (scalar(i) == nullptr) continue;
    if (call.inputs[i].dtype != DType::F32) return call.fault("the thresholds must be f32");
    std::memcpy(&thresholds[i - 3], scalar(i), sizeof(float));
  }
  in.overlap = thresholds[0];
  in.least = scalar(4) != nullptr ? &thresholds[1] : nullptr;
  if (scalar(2) != nullptr) {
    if (is_float(call.inputs[2].dtype)) return call.fault("the number of boxes must be an integer");
    in.most = std::min(in.n, read_integer(call.inputs[2].dtype, scalar(2)));
  }
  if (in.most <= 0) return Selection().write(call);
  return in.n <= UINT32_MAX ? suppress<PackedRank>(call, in) : suppress<WideRank>(call, in);
}

}  // namespace pliant::runtime
