#include "import/zipkin/zipkin_decoder.h"

#include <gtest/gtest.h>

#include "import/decode/batch_dump.h"

namespace wf::zipkin {
namespace {

std::string Decoded(std::string_view json) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeZipkinJson(json, {}, batch, report);
  return status.ok() ? decode::DumpBatch(batch) + decode::DumpReport(report) + "\n"
                     : status.error().message + "\n";
}

TEST(Zipkin, ClientAndSharedServer) {
  EXPECT_EQ(Decoded(R"([
    {"traceId":"5982fe77008310cc80f1da5e10147519","parentId":"90394f6bcffb5d13","id":"67fae42571535f60","kind":"CLIENT",
     "name":"get /m/n/2.6.1","timestamp":1516781775726000,"duration":26000,
     "localEndpoint":{"serviceName":"apm-ui","ipv4":"10.0.0.1","ipv6":"2001:db8::1","port":8080},
     "remoteEndpoint":{"serviceName":"cat","ipv4":"10.0.0.2","port":9411},
     "tags":{"error":"404","http.path":"/x"},
     "annotations":[{"timestamp":1516781775726500,"value":"ws"}],"debug":true},
    {"traceId":"5982fe77008310cc80f1da5e10147519","parentId":"90394f6bcffb5d13","id":"67fae42571535f60","kind":"SERVER",
     "shared":true,"timestamp":1516781775727000,"duration":1,"localEndpoint":{"serviceName":"cat","ipv6":"::2"}}])"),
            "span 5982fe77008310cc80f1da5e10147519 67fae42571535f60 \"get /m/n/2.6.1\" "
            "child_of=90394f6bcffb5d13 "
            "[1516781775726000000..1516781775752000000] client status=error:\"404\"\n"
            "  process apm-ui@10.0.0.1: service.name=\"apm-ui\" ip=\"10.0.0.1\" "
            "ipv6=\"2001:db8::1\" port=8080\n"
            "  attrs error=\"404\" http.path=\"/x\" peer.service=\"cat\" peer.ip=\"10.0.0.2\" "
            "peer.port=9411 "
            "zipkin.debug=true\n"
            "  point 1516781775726500000 \"ws\"\n"
            "span 5982fe77008310cc80f1da5e10147519 67fae42571535f60 \"\" child_of=90394f6bcffb5d13 "
            "[1516781775727000000..1516781775727001000] server shared\n"
            "  process cat@::2: service.name=\"cat\" ip=\"::2\"\n"
            "accepted 2, rejected 0 {}, repairs {}\n");
}

TEST(Zipkin, ShortTraceIdTimeZeroAndMissingTimes) {
  EXPECT_EQ(
      Decoded(R"([{"traceId":"ab","id":"1","timestamp":0,"duration":0},{"traceId":"ab","id":"2"},
                        {"traceId":"ab","id":"3","timestamp":5},{"traceId":"ab","id":"4","duration":7}])"),
      "span 000000000000000000000000000000ab 0000000000000001 \"\" [0..0]\n  process @:\n"
      "span 000000000000000000000000000000ab 0000000000000002 \"\" [?..?]\n  process @:\n"
      "span 000000000000000000000000000000ab 0000000000000003 \"\" [5000..?]\n  process @:\n"
      "span 000000000000000000000000000000ab 0000000000000004 \"\" [?..?]\n  process @:\n"
      "  attrs zipkin.duration_us=7\n"
      "accepted 4, rejected 0 {}, repairs {}\n");
}

TEST(Zipkin, HostileInput) {
  EXPECT_EQ(
      Decoded(
          R"([{"traceId":"0","id":"1"},{"traceId":"1","id":"x"},{"id":"1"},5,{"traceId":"1","id":"0"},
                        {"traceId":"1","id":"1","parentId":"zz"},
                        {"traceId":"1","id":"1","kind":"ODD","extra":1,"timestamp":"soon","duration":-5},
                        {"traceId":"1","id":"2","timestamp":9223372036854775807}])"),
      "span 00000000000000000000000000000001 0000000000000001 \"\" [?..?]\n  process @:\n"
      "  attrs zipkin.duration_us=-5\n"
      "span 00000000000000000000000000000001 0000000000000002 \"\" [9223372036854775807..?]\n  "
      "process @:\n"
      "accepted 2, rejected 6 {not_an_object:1 parent_id_malformed:1 span_id_malformed:1 "
      "span_id_zero:1 "
      "trace_id_malformed:1 trace_id_zero:1}, repairs {bad_field:1 time_clamped:1 unknown_field:1 "
      "unknown_kind:1}\n");
  EXPECT_EQ(Decoded("{}"), "Zipkin JSON: the body is not an array of spans\n");
  EXPECT_EQ(Decoded("[{]"), "JSON: expected a key in quotes at byte 2 (line 1)\n");
}

}  // namespace
}  // namespace wf::zipkin
