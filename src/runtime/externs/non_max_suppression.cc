// For each batch and class: boxes in order of score, each kept unless it overlaps one already kept by more than the
// threshold.
#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "runtime/elements.h"
#include "runtime/externs.h"

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

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return false;
  const float common = height * width, all = a.area + b.area - common;
  return all > 0 && common / all > threshold;
}

struct Candidate {
  float score;
  int64_t index;
};

}  // namespace

pliant_status extern_non_max_suppression(ExternCall& call) {
  const ExternInput &boxes = call.inputs[0], &scores = call.inputs[1];
  if (boxes.dtype != DType::F32 || scores.dtype != DType::F32) return call.fault("boxes and scores must be f32");
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    return call.fault("boxes must be [batch, n, 4] and scores [batch, classes, n]");
  const int64_t batches = boxes.shape[0], n = boxes.shape[1], classes = scores.shape[1];
  auto scalar = [&](size_t i) {
    return call.inputs.size() > i && call.inputs[i].elements == 1 ? call.inputs[i].data : nullptr;
  };
  auto float_scalar = [&](size_t i, float fallback) {
    const std::byte* p = scalar(i);
    if (p != nullptr) std::memcpy(&fallback, p, sizeof fallback);
    return fallback;
  };
  for (size_t i = 3; i < 5; ++i)
    if (scalar(i) != nullptr && call.inputs[i].dtype != DType::F32) return call.fault("the thresholds must be f32");
  if (scalar(2) != nullptr && is_float(call.inputs[2].dtype)) return call.fault("the number of boxes must be an integer");
  const int64_t most = std::min(n, scalar(2) != nullptr ? read_integer(call.inputs[2].dtype, scalar(2)) : 0);
  const float overlap = float_scalar(3, 0), least_score = float_scalar(4, -INFINITY);
  const bool has_least = scalar(4) != nullptr;

  auto* candidates = call.room<Candidate>(static_cast<uint64_t>(n));
  auto* all = call.room<Box>(static_cast<uint64_t>(n));
  auto* kept = call.room<Box>(static_cast<uint64_t>(std::max<int64_t>(most, 0)));
  if (candidates == nullptr || all == nullptr || kept == nullptr) return PLIANT_OUT_OF_MEMORY;
  const auto* box_data = reinterpret_cast<const float*>(boxes.data);
  const auto* score_data = reinterpret_cast<const float*>(scores.data);
  auto* out = reinterpret_cast<int64_t*>(call.outputs[0].data);
  int64_t count = 0;
  PLIANT_TRY(call.require_output(0, DType::I64, 0));
  const auto room = static_cast<int64_t>(call.outputs[0].capacity / (3 * sizeof(int64_t)));
  for (int64_t b = 0; b < batches && most > 0; ++b) {
    for (int64_t i = 0; i < n; ++i) all[i] = make_box(box_data + (b * n + i) * 4, call.ints[0] != 0);
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = score_data + (b * classes + c) * n;
      int64_t found = 0;
      for (int64_t i = 0; i < n; ++i)
        if (!std::isnan(score[i]) && (!has_least || score[i] > least_score)) candidates[found++] = {score[i], i};
      std::sort(candidates, candidates + found, [](const Candidate& x, const Candidate& y) {
        return x.score != y.score ? x.score > y.score : x.index < y.index;
      });
      int64_t selected = 0;
      for (int64_t i = 0; i < found && selected < most; ++i) {
        const Box& box = all[candidates[i].index];
        if (std::any_of(kept, kept + selected, [&](const Box& k) { return overlaps(box, k, overlap); })) continue;
        if (count == room) return call.fault("the output has room for %" PRId64 " boxes only", room);
        kept[selected++] = box;
        out[3 * count] = b;
        out[3 * count + 1] = c;
        out[3 * count + 2] = candidates[i].index;
        ++count;
      }
    }
  }
  if (!call.results.empty()) call.results[0] = count;
  return PLIANT_OK;
}

}  // namespace pliant::runtime
