// Small files by which the system tells what it is.
#pragma once
#include <string>

namespace pliant::machine {

// The first line, without its end; empty when the file cannot be read.
std::string first_line(const std::string& path);

}  // namespace pliant::machine
