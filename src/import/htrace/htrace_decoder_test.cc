#include "import/htrace/htrace_decoder.h"

#include <gtest/gtest.h>

#include "import/decode/batch_dump.h"

namespace wf::htrace {
namespace {

std::string Decoded(std::string_view json) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeHTraceJson(json, {}, batch, report);
  return status.ok() ? decode::DumpBatch(batch) + decode::DumpReport(report) + "\n"
                     : status.error().message + "\n";
}

TEST(HTrace, Version4) {
  EXPECT_EQ(
      Decoded(
          R"({"a":"b9f2a1e07b6e4f16b0c2b27303b20e79","b":1424736225037,"e":1424736225901,"d":"ClientNamenodeProtocol#getFileInfo",
                        "r":"FsShell/192.168.1.7","p":["b9f2a1e07b6e4f160000000000000001","b9f2a1e07b6e4f160000000000000002","00000000000000aa0000000000000003"],
                        "n":{"path":"/tmp"},"t":[{"t":1424736225289,"m":"connected"}]}
                       {"a":"b9f2a1e07b6e4f160000000000000001","b":0,"e":0,"d":"ls","r":"plain"}
                       {"a":"b9f2a1e07b6e4f160000000000000002","b":5,"e":0,"d":"running"})"),
      "span 0000000000000000b9f2a1e07b6e4f16 b0c2b27303b20e79 "
      "\"ClientNamenodeProtocol#getFileInfo\" "
      "child_of=0000000000000001 [1424736225037000000..1424736225901000000]\n"
      "  process FsShell@192.168.1.7: service.name=\"FsShell\" ip=\"192.168.1.7\" "
      "htrace.tracer_id=\"FsShell/192.168.1.7\"\n"
      "  attrs path=\"/tmp\"\n"
      "  point 1424736225289000000 \"connected\"\n"
      "  link 0000000000000000b9f2a1e07b6e4f16 0000000000000002 child_of\n"
      "  link 000000000000000000000000000000aa 0000000000000003 child_of\n"
      "span 0000000000000000b9f2a1e07b6e4f16 0000000000000001 \"ls\" [0..0]\n"
      "  process plain@: service.name=\"plain\" htrace.tracer_id=\"plain\"\n"
      "span 0000000000000000b9f2a1e07b6e4f16 0000000000000002 \"running\" [5000000..?]\n"
      "  process @:\n"
      "accepted 3, rejected 0 {}, repairs {}\n");
}

TEST(HTrace, Version3InAnArray) {
  EXPECT_EQ(
      Decoded(R"([{"i":"bd6d1e5bd6d1e5bd","s":"2","b":1,"e":2,"d":"x","r":"dn","p":["1","3"]}])"),
      "span 0000000000000000bd6d1e5bd6d1e5bd 0000000000000002 \"x\" child_of=0000000000000001 "
      "[1000000..2000000]\n"
      "  process dn@: service.name=\"dn\" htrace.tracer_id=\"dn\"\n"
      "  link 0000000000000000bd6d1e5bd6d1e5bd 0000000000000003 child_of\n"
      "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(HTrace, HostileInput) {
  EXPECT_EQ(
      Decoded(
          R"({"a":"12"} {"a":"00000000000000000000000000000001"} {"a":"00000000000000010000000000000000"} {} 7
                       {"i":"1","s":"2","b":"x","e":9223372036854775807,"p":["?"]})"),
      "span 00000000000000000000000000000001 0000000000000002 \"\" [?..9223372036854775807]\n  "
      "process @:\n"
      "accepted 1, rejected 5 {not_an_object:1 span_id_malformed:1 span_id_zero:1 "
      "trace_id_malformed:1 "
      "trace_id_zero:1}, repairs {bad_field:1 parent_malformed:1 time_clamped:1}\n");
  EXPECT_EQ(Decoded("{\"i\":\"1\",\"s\":\"2\"}\n{\"a\":"),
            "HTrace JSON: value at byte 18: JSON: expected a value, found the end of the text at "
            "byte 5 (line 1)\n");
}

}  // namespace
}  // namespace wf::htrace
