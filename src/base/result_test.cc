#include "base/result.h"

#include <gtest/gtest.h>

namespace pliant {
namespace {

Result<int> half_of(int v) {
  if (v % 2 != 0) return make_error("odd-number", "input \"v\"", "3 is not even", {"give an even number"});
  return v / 2;
}

Result<int> quarter_of(int v) {
  const int half = TRY(half_of(v));
  return half_of(half);
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  const Result<int> bad = quarter_of(6);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text(), "input \"v\": error: 3 is not even [odd-number]\n  note: give an even number");
}

TEST(Result, IdsAreDistinctAndSayWhatIsMalformed) {
  const std::vector<DiagnosticId> ids = diagnostic_ids();
  for (size_t i = 0; i < ids.size(); ++i)
    for (size_t k = 0; k < ids.size(); ++k) EXPECT_EQ(ids[i] == ids[k], i == k) << ids[i].name() << " " << ids[k].name();
  EXPECT_TRUE(DiagnosticId("missing-value").is_malformed());
  EXPECT_FALSE(DiagnosticId("shape-mismatch").is_malformed());
  EXPECT_FALSE(DiagnosticId("no-such-id").is_malformed());
}

TEST(Result, ErrorsAreReportedTogether) {
  Error all;
  all.diagnostics.push_back({"a", "", "first", {}});
  all.diagnostics.push_back({"b", "x", "second", {}});
  EXPECT_EQ(all.text(), "error: first [a]\nx: error: second [b]");
}

TEST(Result, ChecksThrowWhatTheySay) {
  const auto fails = [](int v) { PLIANT_CHECK(v == 1) << "v is " << v; };
  EXPECT_NO_THROW(fails(1));
  try {
    fails(2);
    FAIL() << "nothing was thrown";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("check failed: v == 1 v is 2"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace pliant
