#include "wherefore/context.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace wherefore {
namespace {

constexpr char kExample[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, TravelsThroughUnchanged) {
  const auto context = RequestContext::FromHeaders(kExample, "rojo=00f067aa0ba902b7,congo=t61");
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->TraceHex(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->BlockHex(), "00f067aa0ba902b7");
  EXPECT_TRUE(context->sampled());
  EXPECT_TRUE(context->remote());
  EXPECT_EQ(context->tracestate(), "rojo=00f067aa0ba902b7,congo=t61");
  EXPECT_EQ(context->Traceparent(), kExample);
}

struct Case {
  const char* what;
  std::string header;
};

class MalformedTraceparent : public testing::TestWithParam<Case> {};

TEST_P(MalformedTraceparent, IsRefused) {
  EXPECT_FALSE(RequestContext::FromHeaders(GetParam().header).has_value()) << GetParam().header;
}

INSTANTIATE_TEST_SUITE_P(
    Headers, MalformedTraceparent,
    testing::Values(
        Case{"Empty", ""}, Case{"Cut", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"},
        Case{"VersionFf", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
        Case{"ZeroTrace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"},
        Case{"ZeroBlock", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"},
        Case{"UpperCase", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"},
        Case{"NotHex", "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01"},
        Case{"FlagsNotHex", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x"},
        Case{"LongerVersion00", std::string(kExample) + "-extra"},
        Case{"LongerWithoutDash", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01extra"},
        Case{"WrongSeparator", "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01"}),
    [](const auto& info) { return std::string(info.param.what); });

TEST(Traceparent, LaterVersionMayBeLonger) {
  const auto context =
      RequestContext::FromHeaders("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-more");
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->flags(), 0x03) << "unknown flags do not travel on";
}

TEST(Traceparent, BlanksAroundAreNoFault) {
  EXPECT_TRUE(RequestContext::FromHeaders(std::string("  ") + kExample + "\t").has_value());
}

TEST(Tracestate, MalformedIsLeftOutAndTheTraceGoesOn) {
  const std::string bad[] = {"no-equals",
                             "UPPER=1",
                             "a=b=c",
                             "=1",
                             "a=",
                             "k=" + std::string(300, 'v'),
                             "k=v," + std::string(600, 'x')};
  for (const std::string& state : bad) {
    const auto context = RequestContext::FromHeaders(kExample, state);
    ASSERT_TRUE(context.has_value()) << state;
    EXPECT_EQ(context->tracestate(), "") << state;
  }
  std::string members;
  for (int i = 0; i < 33; ++i) members.append("k").append(std::to_string(i)).append("=v,");
  EXPECT_EQ(RequestContext::FromHeaders(kExample, members)->tracestate(), "") << "33 members";
}

TEST(RequestContext, BelongsToItsThread) {
  const auto context = RequestContext::FromHeaders(kExample);
  EXPECT_FALSE(RequestContext::Current().valid());
  {
    const ContextScope scope(*context);
    EXPECT_EQ(RequestContext::Current().Traceparent(), kExample);
    RequestContext captured = RequestContext::Current();
    std::thread([&] {
      EXPECT_FALSE(RequestContext::Current().valid());
      const ContextScope attached(captured);
      EXPECT_EQ(RequestContext::Current().Traceparent(), kExample);
      {
        const ContextScope none{RequestContext()};
        EXPECT_FALSE(RequestContext::Current().valid());
      }
      EXPECT_TRUE(RequestContext::Current().valid());
    }).join();
  }
  EXPECT_FALSE(RequestContext::Current().valid());
  EXPECT_EQ(RequestContext().Traceparent(), "");
}

}  // namespace
}  // namespace wherefore
