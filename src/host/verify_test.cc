#include <gtest/gtest.h>

#include "host/host.h"

namespace pliant::host {
namespace {

// A module around the instructions, with what they may name.
std::string around(const std::string& instructions) {
  return R"(device 1 "gpu"
kernel @k on "cpu" (f32, f32 out) ints (n)
kernel @g on "gpu" (f32 out)
constant 0 bytes 64
input "x" f32 [s0 "n"]
output "y" f32 [s0 "n"]
bind s0 "n" = input 0 axis 0 in [0, 100]
key s0 "n"
function @main slots 8 given 1 grows 1 lists 1 params 0 results 0 {
  epoch 0 (n = s0) {
    size s1 = 4*n
    s2 = 8*n
  }
  epoch 1 (u = s3) {
    size s4 = 4*u
  }
  buffer 0 bytes s1 epoch 0
  buffer 1 bytes s4 epoch 1
  buffer 2 bytes 64 epoch 0 device 1
  )" + instructions +
         R"(
}
function @f slots 2 given 1 grows 0 lists 1 params 1 results 1 {
  result 0 sizes (0)
  copy %result0 = %param0 bytes s0
}
)";
}

std::string fault_of_module(const std::string& text) {
  expr::Context ctx;
  const auto m = parse(text, ctx);
  if (!m.ok()) return m.error().text();
  const Status s = verify(m.value(), ctx);
  return s.ok() ? "" : s.error().diagnostics[0].where + ": " + s.error().diagnostics[0].message;
}
const std::string kAllocs = " alloc %buffer0 alloc %buffer1 alloc %buffer2 ";
std::string fault_of(const std::string& instructions, const std::string& end = kAllocs) {
  std::string fault = fault_of_module(around(instructions + end));
  const std::string head = "function main, instruction ";
  if (fault.starts_with(head)) fault = fault.substr(head.size());
  return fault;
}

TEST(HostVerify, AcceptsWhatIsComputedOnEveryPath) {
  EXPECT_EQ(fault_of("shape 0 plan 0 if s0 { s5 = 1 } else { s5 = s1 } s6 = s5"), "");
  EXPECT_EQ(fault_of("shape 0 plan 0 if s0 { s5 = 1 } else { fail \"no\" } s6 = s5"), "");
  EXPECT_EQ(fault_of("s5 = 0 loop s5 preheader { s6 = 1 } body { s7 = 2 } s4 = s7"), "");
  EXPECT_EQ(fault_of("shape 0 plan 0 alloc %buffer0 launch @k (%buffer0, %output0) ints (s0) grid s1 work s2",
                     " alloc %buffer1 alloc %buffer2"),
            "");
  EXPECT_EQ(fault_of("shape 0 plan 0 alloc %buffer2 launch @g (%buffer2) grid 1 work 1 device 1 copy %output0 = %buffer2 "
                     "bytes 64",
                     " alloc %buffer0 alloc %buffer1"),
            "");
}

TEST(HostVerify, RefusesSlotsThatNeedNotBeComputed) {
  EXPECT_EQ(fault_of("s6 = s5"), "1: slot s5 need not be computed here");
  EXPECT_EQ(fault_of("if s0 { s5 = 1 } s6 = s5"), "3: slot s5 need not be computed here");
  EXPECT_EQ(fault_of("if s0 { s5 = 1 } else { } s6 = s5"), "3: slot s5 need not be computed here");
  EXPECT_EQ(fault_of("s5 = 0 loop s5 < s0 preheader {} body { s6 = 1 } s7 = s6"), "4: slot s6 need not be computed here");
  EXPECT_EQ(fault_of("s5 = 0 loop s5 preheader {} body { } while s6"), "2: slot s6 need not be computed here");
  EXPECT_EQ(fault_of("shape 1"), "1: slot s3 need not be computed here");
  EXPECT_EQ(fault_of("plan 0"), "1: slot s1 need not be computed here");
  EXPECT_EQ(fault_of("s0 = 1"), "1: slot s0 is given and may not change");
  EXPECT_EQ(fault_of("s8 = 1"), "1: there is no slot s8");
  EXPECT_EQ(fault_of("s5 = 4294967296"), "1: an immediate has over 32 bits");
}

TEST(HostVerify, RefusesBuffersOutsideTheirLives) {
  const std::string use = "copy %output0 = %buffer0 bytes 4";
  EXPECT_EQ(fault_of("shape 0 " + use), "2: buffer 0 is used before its life");
  EXPECT_EQ(fault_of("shape 0 alloc %buffer0 " + use, ""), "3: the epoch of buffer 0 need not be planned here");
  EXPECT_EQ(fault_of("shape 0 alloc %buffer0 if s0 { plan 0 } " + use, ""),
            "5: the epoch of buffer 0 need not be planned here");
  // Planning an epoch ends those behind it, those of the next iteration too.
  EXPECT_EQ(fault_of("shape 0 s3 = 1 shape 1 plan 1 alloc %buffer1 plan 0 copy %output0 = %buffer1 bytes 4", ""),
            "7: the epoch of buffer 1 need not be planned here");
  EXPECT_EQ(fault_of("shape 0 s3 = 1 shape 1 plan 1 alloc %buffer1 s5 = 0 loop s5 < s0 preheader {} body { copy %output0 = "
                     "%buffer1 bytes 4 plan 0 }",
                     ""),
            "8: the epoch of buffer 1 need not be planned here");
  EXPECT_EQ(fault_of("keep %buffer0"), "1: a buffer is kept that has no life");
  EXPECT_EQ(fault_of("alloc %buffer0 alloc %buffer0", ""), "2: a buffer is allocated twice, or is none");
  EXPECT_EQ(fault_of("", ""), "0: buffer 0 is never allocated");
}

TEST(HostVerify, RefusesSizesThatMayHaveOverflowed) {
  EXPECT_EQ(fault_of("shape 0 reserve %grow0 bytes s2"), "2: slot s2 is used as a size but not computed as one");
  EXPECT_EQ(fault_of("shape 0 launch @k (%input0, %output0) ints (s0) grid s2 work 1"),
            "2: slot s2 is used as a size but not computed as one");
  EXPECT_EQ(fault_of("reserve %grow0 bytes -4"), "1: a size is below 0");
}

TEST(HostVerify, RefusesWhatDoesNotFit) {
  EXPECT_EQ(fault_of("launch @k (%input0) ints (s0) grid 1 work 1"),
            "1: kernel k takes another number of arguments or integers");
  EXPECT_EQ(fault_of("launch @k (%input0, %output0) grid 1 work 1"),
            "1: kernel k takes another number of arguments or integers");
  EXPECT_EQ(fault_of("launch @k (%input0, %input0) ints (s0) grid 1 work 1"), "1: what may only be read is written");
  EXPECT_EQ(fault_of("launch @g (%output0) grid 1 work 1"), "1: kernel g is made for gpu, the device is of cpu");
  EXPECT_EQ(fault_of("launch @g (%output0) grid 1 work 1 device 1"), "1: memory lies on another device");
  EXPECT_EQ(fault_of("copy %param0 = %input0 bytes 4"), "1: there is no memory of number 0 of its kind");
  EXPECT_EQ(fault_of("copy %constant0 = %input0 bytes 4"), "1: what may only be read is written");
  EXPECT_EQ(fault_of("reserve %output0 bytes 4"), "1: only growable blocks are reserved");
  EXPECT_EQ(fault_of("s5 = read f32 %input0 [0]"), "1: only integers are read into slots");
  EXPECT_EQ(fault_of("library \"sort\" () to () lists (1)"), "1: there is no such list register");
  EXPECT_EQ(fault_of("call @f (%input0) to (%output0)"),
            "1: function f takes another number of integers, params or results");
  EXPECT_EQ(fault_of("call @f (%input0) to (%output0) ints (s0) sizes (0 0 s5)"),
            "1: the size of a result lies in no slot of the function");
  EXPECT_EQ(fault_of("call @main () to () ints (s0)"), "1: there is no such function to call");
  EXPECT_EQ(fault_of("s5 = 0 loop s5 when 2 preheader {} body {}"), "2: a condition is neither a slot nor 0 or 1");
}

TEST(HostVerify, RefusesTablesThatDoNotFit) {
  EXPECT_EQ(fault_of_module(""), "module: there is no entry");
  EXPECT_EQ(fault_of_module("function @main slots 1 given 1 grows 0 lists 0 params 0 results 0 {}"),
            "function main: what it is given has no names");
  EXPECT_EQ(fault_of_module("key s0 \"n\" function @main slots 1 given 1 grows 0 lists 0 params 0 results 0 {}"),
            "slot s0: nothing binds it");
  EXPECT_EQ(fault_of_module("input \"x\" f32 [s1] function @main slots 1 given 0 grows 0 lists 0 params 0 results 0 {}"),
            "tensor x: an axis lies in a slot that is none");
  EXPECT_EQ(fault_of_module("output \"y\" f32 [s0] function @main slots 1 given 0 grows 0 lists 0 params 0 results 0 {}"),
            "function main, instruction 0: slot s0 need not be computed here");
}

}  // namespace
}  // namespace pliant::host
