// Q1 to Q9 of the Pivot Tracing paper, verbatim, on an execution whose answers are known.
#include "lang/query/query_lab_test.h"

namespace wf::query {
namespace {

using testing::Events;
using testing::Rows;

const char* const kQ1 = R"(Q1: From incr In DataNodeMetrics.incrBytesRead
GroupBy incr.host
Select incr.host, SUM(incr.delta))";

const char* const kQ2 = R"(Q2: From incr In DataNodeMetrics.incrBytesRead
    Join cl In First(ClientProtocols) On cl -> incr
    GroupBy cl.procName
    Select cl.procName, SUM(incr.delta))";

const char* const kQ3 =
    R"(Q3: From dnop In DN.DataTransferProtocol GroupBy dnop.host Select dnop.host, COUNT)";

const char* const kQ4 = R"(Q4: From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.src
    Select st.host, getloc.src, COUNT)";

const char* const kQ5 = R"(Q5: From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.replicas
    Select st.host, getloc.replicas, COUNT)";

const char* const kQ6 = R"(Q6: From DNop In DN.DataTransferProtocol
Join st In StressTest.DoNextOp On st -> DNop
GroupBy st.host, DNop.host
Select st.host, DNop.host, COUNT)";

const char* const kQ7 = R"(Q7: From DNop In DN.DataTransferProtocol
Join getloc In NN.GetBlockLocations
On getloc -> DNop
Join st In StressTest.DoNextOp On st -> getloc
Where st.host != DNop.host
GroupBy DNop.host, getloc.replicas
Select DNop.host, getloc.replicas, COUNT)";

const char* const kQ8 =
    "Q8: From response In SendResponse Join request In MostRecent(ReceiveRequest) On request -> "
    "response Select response.time - request.time";

const char* const kQ9 =
    "Q9: From job In JobComplete Join latencyMeasurement In Q8 On latencyMeasurement -> job Select "
    "job.id, AVERAGE(latencyMeasurement)";

// Two reads of a block store: one from h1 that reads h2's replica, one from h2 that reads its own.
const char* const kReads = R"(
{"id":"1a","tracepoint":"ClientProtocols","time_ns":1,"host":"h1","proc":"FSread4m"}
{"id":"1b","tracepoint":"StressTest.DoNextOp","time_ns":2,"host":"h1","proc":"FSread4m","after":["1a"]}
{"id":"1c","tracepoint":"NN.GetBlockLocations","time_ns":3,"host":"nn","after":["1b"],"vars":{"src":"/f1","replicas":["h2","h3"]}}
{"id":"1d","tracepoint":"DN.DataTransferProtocol","time_ns":4,"host":"h2","after":["1c"]}
{"id":"1e","tracepoint":"DataNodeMetrics.incrBytesRead","time_ns":5,"host":"h2","after":["1d"],"vars":{"delta":4096}}
{"id":"1f","tracepoint":"ClientProtocols","time_ns":6,"host":"h2","proc":"dn","after":["1e"]}
{"id":"1g","tracepoint":"DataNodeMetrics.incrBytesRead","time_ns":7,"host":"h2","after":["1f"],"vars":{"delta":4}}
{"id":"2a","tracepoint":"ClientProtocols","time_ns":1,"host":"h2","proc":"HGet"}
{"id":"2b","tracepoint":"StressTest.DoNextOp","time_ns":2,"host":"h2","proc":"HGet","after":["2a"]}
{"id":"2c","tracepoint":"NN.GetBlockLocations","time_ns":3,"host":"nn","after":["2b"],"vars":{"src":"/f2","replicas":["h1","h2"]}}
{"id":"2d","tracepoint":"DN.DataTransferProtocol","time_ns":4,"host":"h2","after":["2c"]}
{"id":"2e","tracepoint":"DataNodeMetrics.incrBytesRead","time_ns":5,"host":"h1","after":["2d"],"vars":{"delta":100}}
)";

TEST(PaperQueries, Q1) { EXPECT_EQ(Rows(kQ1, Events(kReads)), R"([["h1",100],["h2",4100]])"); }
TEST(PaperQueries, Q2) {
  EXPECT_EQ(Rows(kQ2, Events(kReads)), R"([["FSread4m",4100],["HGet",100]])");
}
TEST(PaperQueries, Q3) { EXPECT_EQ(Rows(kQ3, Events(kReads)), R"([["h2",2]])"); }
TEST(PaperQueries, Q4) {
  EXPECT_EQ(Rows(kQ4, Events(kReads)), R"([["h1","/f1",1],["h2","/f2",1]])");
}
TEST(PaperQueries, Q5) {
  EXPECT_EQ(Rows(kQ5, Events(kReads)),
            R"([["h1","h2",1],["h1","h3",1],["h2","h1",1],["h2","h2",1]])");
}
TEST(PaperQueries, Q6) { EXPECT_EQ(Rows(kQ6, Events(kReads)), R"([["h1","h2",1],["h2","h2",1]])"); }
TEST(PaperQueries, Q7) { EXPECT_EQ(Rows(kQ7, Events(kReads)), R"([["h2","h2",1],["h2","h3",1]])"); }

const char* const kJobs = R"(
{"id":"1","tracepoint":"ReceiveRequest","time_ns":10}
{"id":"2","tracepoint":"ReceiveRequest","time_ns":20,"after":["1"]}
{"id":"3","tracepoint":"SendResponse","time_ns":25,"after":["2"]}
{"id":"4","tracepoint":"SendResponse","time_ns":40,"after":["3"]}
{"id":"5","tracepoint":"JobComplete","time_ns":50,"after":["4"],"vars":{"id":"job1"}}
{"id":"6","tracepoint":"ReceiveRequest","time_ns":60,"after":["5"]}
{"id":"7","tracepoint":"SendResponse","time_ns":67,"after":["6"]}
{"id":"8","tracepoint":"JobComplete","time_ns":70,"after":["7"],"vars":{"id":"job2"}}
)";

TEST(PaperQueries, Q8) {
  const auto query = testing::Parsed(kQ8);
  EXPECT_EQ(ColumnNames(*query), (std::vector<std::string>{"response.time-request.time"}));
  EXPECT_EQ(Rows(kQ8, Events(kJobs)), "[[5],[7],[20]]");
}
TEST(PaperQueries, Q9) {
  const std::string program = std::string(kQ8) + ";\n" + kQ9;
  EXPECT_EQ(ColumnNames(*testing::Parsed(program)),
            (std::vector<std::string>{"job.id", "AVERAGE(latencyMeasurement)"}));
  EXPECT_EQ(Rows(program, Events(kJobs)), R"([["job1",12.5],["job2",10.666666666666666]])");
}

}  // namespace
}  // namespace wf::query
