// A well-formed program that uses every table, for the tests of the format and of the verifier.
#pragma once
#include "artifact/program.h"

namespace pliant::artifact {

Program full_program();

}  // namespace pliant::artifact
