#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/output_file.h"
#include "commands.h"
#include "npy.h"
#include "request.h"
#include "values.h"

namespace pliant::cli {
namespace {

void print_output(const std::string& name, const te::ArrayView& a) {
  int64_t n = element_count(a);
  std::printf("  %s: %s %s", name.c_str(), name_of(a.dtype), print_shape(a.shape).c_str());
  if (n == 0) {
    std::printf("  empty\n");
    return;
  }
  double least = element(a, 0), greatest = least, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = element(a, i);
    least = std::min(least, v);
    greatest = std::max(greatest, v);
    sum += v;
  }
  std::printf("  min %.6g  mean %.6g  max %.6g  [", least, sum / static_cast<double>(n), greatest);
  for (int64_t i = 0; i < std::min<int64_t>(n, 4); ++i) std::printf("%s%.6g", i ? ", " : "", element(a, i));
  std::printf("%s]\n", n > 4 ? ", …" : "");
}

std::string file_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':' || c == '\\') c = '_';
  }
  return name + ".npy";
}

// Prints an output, and writes it where there is a folder.
Status give(const std::string& name, const te::ArrayView& a, const std::filesystem::path& folder) {
  print_output(name, a);
  if (folder.empty()) return ok();
  TRY(make_output_folder(folder.string()));
  return write_npy((folder / file_name(name)).string(), a);
}

}  // namespace

Status run(const RunArgs& args) {
  if (!args.output_dir.empty()) TRY(make_output_folder(args.output_dir));
  Request request = TRY(make_request(args));
  const Session& session = request.session;
  for (size_t k = 0; k < request.cases.size(); ++k) {
    Outputs outputs(session.outputs().size());
    TRY(session.run(TRY(request.inputs(k)), outputs, request.seed));
    std::printf("%s\n", print_case(request.cases[k]).c_str());
    std::filesystem::path folder = args.output_dir;
    if (request.cases.size() > 1) folder /= std::to_string(k);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const InputSpec& spec = session.outputs()[i];
      if (!spec.is_list()) {
        TRY(give(spec.name, outputs.view(i), args.output_dir.empty() ? "" : folder));
        continue;
      }
      auto elements = outputs.elements(i);
      std::printf("  %s: %s\n", spec.name.c_str(),
                  elements ? (std::to_string(elements->size()) + " elements").c_str() : "nothing");
      for (size_t e = 0; elements && e < elements->size(); ++e)
        TRY(give(spec.name + "." + std::to_string(e), (*elements)[e], args.output_dir.empty() ? "" : folder));
    }
  }
  return ok();
}

}  // namespace pliant::cli
