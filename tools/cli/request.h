// What `run` and `bench` work on: a session, the shapes to run at, and inputs from files or at random.
#pragma once
#include "commands.h"
#include "session.h"

namespace pliant::cli {

struct Request {
  Session session;
  std::vector<Case> cases;
  Inputs given;  // from files
  uint64_t seed = 0;
  Result<Inputs> inputs(size_t k) const;
};
Result<Request> make_request(const RunArgs& args);

}  // namespace pliant::cli
