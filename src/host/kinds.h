// The words of the text for the enums of artifact/program.h, by value.
#pragma once

namespace pliant::host {

inline constexpr const char* kArgKinds[] = {"input", "output", "buffer", "constant", "grow", "param", "result"};
inline constexpr const char* kTensorKinds[] = {"tensor", "sequence", "optional", "optional_sequence"};
inline constexpr const char* kCheckKinds[] = {"==", "<=", "broadcasts"};

}  // namespace pliant::host
