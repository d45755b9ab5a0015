// The .npy file format, versions 1 to 3: arrays of one numeric dtype in row-major order.
#pragma once
#include <string>

#include "te/te.h"

namespace pliant::cli {

// bf16 is read from and written as the two-byte void dtype that numpy gives to it.
Result<te::Array> read_npy(const std::string& path);
Status write_npy(const std::string& path, const te::ArrayView& array);

}  // namespace pliant::cli
