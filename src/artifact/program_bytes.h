// Program tables to bytes and back. Every struct's fields are listed once, for both directions: integers are LEB128 varints
// (signed ones zigzag), texts and lists carry their count. The image's code bytes are not part of it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "artifact/debug.h"

namespace pliant::artifact {

std::vector<std::byte> encode_tables(const Program& program);
// False when the bytes are no tables: cut short, left over, or a value out of its type's range. Takes memory in proportion
// to the bytes.
bool decode_tables(std::span<const std::byte> bytes, Program& out);
std::vector<std::byte> encode_debug(const DebugTable& debug);
bool decode_debug(std::span<const std::byte> bytes, DebugTable& out);
// Only the target and the features, which stand first.
bool decode_target(std::span<const std::byte> bytes, std::string& target, std::vector<std::string>& features);

}  // namespace pliant::artifact
