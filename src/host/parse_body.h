// Reads the instructions of host functions.
#pragma once
#include <map>

#include "host/text_reader.h"

namespace pliant::host {

class BodyParser {
 public:
  BodyParser(TextReader& reader, const std::map<std::string, uint32_t>& kernels) : r_(reader), kernels_(kernels) {}
  // After an opening brace, through the closing one. The functions of calls are numbers into `callees()`.
  Result<Block> block();
  const std::vector<std::string>& callees() const { return callees_; }

 private:
  Result<Instr> instr();
  Result<uint32_t> buffer();
  Result<Instr> slot_instr();
  Result<Instr> launch();
  Result<Instr> library();
  Result<Instr> copy();
  Result<Instr> call();
  Result<Instr> fail_instr();
  Result<Instr> if_instr();
  Result<Instr> loop();
  Result<std::vector<artifact::InvokeDesc::SlotResult>> moves();

  TextReader& r_;
  const std::map<std::string, uint32_t>& kernels_;
  std::vector<std::string> callees_;
};

}  // namespace pliant::host
