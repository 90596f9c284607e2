#include "store/clickhouse/sql_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::store::clickhouse {
namespace {

std::optional<std::string> Find(const std::string& name) {
  if (name == "pages") return "SELECT 1 AS country FROM db.rows_1";
  if (name == "calls" || name == "a b") return "SELECT 2 AS x FROM db.rows_2";
  return std::nullopt;
}

std::string Guarded(const std::string& sql) {
  const auto guarded = GuardSql(sql, Find);
  return guarded.ok() ? guarded->text : "error: " + guarded.error().message;
}

TEST(SqlGuard, DatasetsBecomeSubqueries) {
  EXPECT_EQ(Guarded("SELECT country FROM pages"),
            "SELECT country FROM (SELECT 1 AS country FROM db.rows_1) AS `pages`");
  EXPECT_EQ(
      Guarded("select p.country from pages p where p.country = 'x;y' -- end\n;"),
      "select p . country from (SELECT 1 AS country FROM db.rows_1) p where p . country = 'x;y'");
  EXPECT_EQ(Guarded("SELECT 1 FROM \"a b\" AS q"),
            "SELECT 1 FROM (SELECT 2 AS x FROM db.rows_2) AS q");
  EXPECT_EQ(Guarded("SELECT 1"), "SELECT 1");
}

TEST(SqlGuard, WhatPeopleAskPasses) {
  for (const char* sql : {
           "SELECT country, count(*) AS n, sum(latency_ns) FROM pages GROUP BY country ORDER BY n "
           "DESC LIMIT 3",
           "SELECT quantileExact(0.95)(latency_ns), countIf(x > 1), uniqExact(a, b) FROM pages",
           "SELECT * FROM pages JOIN calls USING (trace_id)",
           "SELECT * FROM pages ANY LEFT JOIN (SELECT trace_id FROM calls) USING (trace_id)",
           "SELECT * FROM pages, calls WHERE pages.x = calls.x",
           "WITH t AS (SELECT * FROM pages) SELECT * FROM t WHERE x IN (SELECT x FROM calls)",
           "SELECT x IN (1, 2, -3) AND y NOT IN ('a', 'b') AND (a, b) IN ((1, 2), (3, 4)) FROM "
           "pages",
           "SELECT CASE WHEN x > 1 THEN 'a' ELSE 'b' END, CAST(x AS Nullable(Int64)), x::Float64 "
           "FROM pages",
           "SELECT /* hello */ arrayMap(x -> x + 1, [1, 2]) FROM pages",
           "SELECT 1 UNION ALL SELECT 2",
           "SELECT (SELECT max(x) FROM pages) AS m, x ? 1 : 2 FROM calls",
           "SELECT \"format\", \"into\" FROM pages",
           "SELECT DISTINCT x FROM pages WHERE x BETWEEN 1 AND 2 AND y LIKE '%a\\'b%' AND z IS NOT "
           "NULL",
       })
    EXPECT_THAT(Guarded(sql), ::testing::Not(::testing::HasSubstr("error"))) << sql;
}

// Each is a way out of the datasets, in one of the versions of ClickHouse.
TEST(SqlGuard, WaysOutAreClosed) {
  for (const char* sql : {
           // other statements, and several
           "DROP TABLE pages",
           "INSERT INTO pages SELECT 1",
           "SET readonly = 0",
           "USE system",
           "SYSTEM SHUTDOWN",
           "SHOW TABLES",
           "DESCRIBE pages",
           "EXPLAIN SELECT 1",
           "KILL QUERY WHERE 1",
           "SELECT 1; DROP TABLE x",
           "SELECT 1; SELECT 2",
           "",
           "(SELECT 1)",
           "CREATE TABLE x (a UInt8) ENGINE = Memory",
           "nonsense",
           "SELECT 1 PARALLEL WITH DROP TABLE x",
           "SELECT * FROM (EXPLAIN SELECT 1)",
           "ALTER TABLE pages DELETE WHERE 1",
           "WITH x AS (SELECT 1) INSERT INTO pages SELECT 1",
           "DESC pages",
           "EXISTS TABLE pages",
           "CHECK TABLE pages",
           "OPTIMIZE TABLE pages",
           "TRUNCATE TABLE pages",
           "ATTACH TABLE x",
           "WATCH pages",
           // where the answer goes, and settings
           "SELECT 1 INTO OUTFILE '/tmp/x'",
           "SELECT 1 FORMAT Native",
           "SELECT 1 SETTINGS readonly = 0",
           "SELECT 1 into outfile 'x' format CSV",
           "SELECT * FROM pages settings max_memory_usage=0",
           "SELECT count() FROM pages WITH TOTALS",
           // tables that are no datasets
           "SELECT * FROM system.tables",
           "SELECT * FROM `system`.`tables`",
           "SELECT * FROM \"system\" . tables",
           "SELECT * FROM others",
           "SELECT * FROM db.rows_1",
           "SELECT * FROM rows_1",
           "SELECT * FROM pages, system.one",
           "SELECT * FROM pages AS p, system.one",
           "SELECT * FROM pages p, (SELECT 1) q, system.one",
           "SELECT * FROM pages JOIN system.one USING (x)",
           "SELECT * FROM pages GLOBAL ANY LEFT JOIN system.one USING x",
           "SELECT * FROM (SELECT * FROM system.one)",
           "SELECT (SELECT max(name) FROM system.tables) FROM pages",
           "SELECT * FROM pages WHERE x IN system.one",
           "SELECT * FROM pages WHERE x IN (system.one)",
           "SELECT * FROM pages WHERE x IN ((system.one))",
           "SELECT * FROM pages WHERE x NOT IN system.one",
           "SELECT * FROM pages WHERE x GLOBAL IN system.one",
           "SELECT in(1, system.one)",
           "SELECT NOT in(1, system.one)",
           "SELECT IN(1, system.one) FROM pages",
           "SELECT \"in\"(1, system.one)",
           "SELECT notIn(1, system.one)",
           "SELECT * REPLACE in(1, system.one) AS x FROM pages",
           "SELECT x in((SELECT 1), system.one) FROM pages",
           "SELECT x IN (1, system.one) FROM pages",
           "SELECT globalIn(1, system.one)",
           "SELECT x IN (y) FROM pages",
           "SELECT x IN (tuple(system.one)) FROM pages",
           "SELECT * FROM (pages)",
           "SELECT * FROM (system.one)",
           "SELECT * FROM ((system.one))",
           "SELECT * FROM pages UNION ALL SELECT * FROM system.one",
           "FROM system.one SELECT *",
           "SELECT * FROM (FROM system.one SELECT *)",
           "SELECT * FROM 'x.csv'",
           "SELECT 1 FROM pages USING system.one",
           "SELECT * FROM pages ARRAY JOIN system.one",
           "SELECT * FROM pages LEFT JOIN others ON 1 = 1",
           "SELECT 1 FROM",
           "SELECT 1 FROM pages JOIN",
           "WITH \"system.one\" AS (SELECT 1) SELECT * FROM \"system.one\"",
           // table functions
           "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')",
           "SELECT * FROM file('/etc/passwd', CSV, 'a String')",
           "SELECT * FROM remote('127.0.0.1', system.one)",
           "SELECT * FROM remote('127.0.0.1', system, one)",
           "SELECT * FROM cluster('c', system.one)",
           "SELECT * FROM mysql('h', 'd', 't', 'u', 'p')",
           "SELECT * FROM numbers(10)",
           "SELECT * FROM merge('system', '.*')",
           "SELECT * FROM jdbc('x', 'y')",
           "SELECT * FROM executable('sh', 'TSV', 'a String')",
           "SELECT * FROM s3('x')",
           "SELECT * FROM `url`('x')",
           "SELECT * FROM input('a String')",
           "SELECT * FROM view(SELECT 1)",
           "SELECT * FROM pages, url('x')",
           "SELECT * FROM catalog('x')",
           "SELECT * FROM viewIfPermitted(SELECT 1 ELSE null('x UInt8'))",
           // functions that reach something
           "SELECT file('/etc/passwd')",
           "SELECT dictGet('d', 'a', toUInt64(1))",
           "SELECT joinGet('t', 'a', 1)",
           "SELECT hostName()",
           "SELECT currentDatabase()",
           "SELECT currentUser()",
           "SELECT getSetting('readonly')",
           "SELECT sleep(3)",
           "SELECT sleepEachRow(3) FROM pages",
           "SELECT hasColumnInTable('system', 'one', 'dummy')",
           "SELECT version()",
           "SELECT uptime()",
           "SELECT addressToLine(1)",
           "SELECT evalMLMethod(1)",
           "SELECT modelEvaluate('x')",
           "SELECT `file`('/etc/passwd')",
           "SELECT \"dictGetString\"('x', 'y', 1)",
           "SELECT FiLe('/etc/passwd')",
           "SELECT getMacro('x')",
           "SELECT filesystemAvailable()",
           "SELECT throwIf(1)",
           "SELECT materialize(1)",
           "SELECT file\n('/etc/passwd')",
           "SELECT file/**/('/etc/passwd')",
           "SELECT COLUMNS('a') FROM pages",
           // how it is read
           "SELECT $$x$$",
           "SELECT $a$; DROP $a$",
           "SELECT {x:String}",
           "SELECT @@version",
           "SELECT \\G",
           "SELECT /* /* */ */ 1",
           "SELECT 'a",
           "SELECT \"a",
           "SELECT `a\\` FROM system.one -- `",
           "SELECT 'it''s'",
           "SELECT x'41'",
           "SELECT 1 # comment",
           "SELECT \xE2\x80\x9C"
           "a\xE2\x80\x9D FROM pages",
           "SELECT (1",
           "SELECT 1)",
           "SELECT [1)",
           "SELECT 1a FROM pages",
           "SELECT 0x1F",
       })
    EXPECT_THAT(Guarded(sql), ::testing::StartsWith("error: sql:")) << sql;
  EXPECT_THAT(Guarded(std::string("SELECT 1\0", 9)), ::testing::StartsWith("error: sql:"));
  EXPECT_THAT(Guarded("SELECT " + std::string(300, '(') + "1" + std::string(300, ')')),
              ::testing::StartsWith("error: sql:"));
}

TEST(SqlGuard, RefusalsSayWhereAndWhatInstead) {
  const auto refused = GuardSql("SELECT *\nFROM nothing", Find);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "sql: at 15: there is no dataset nothing");
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("dataset list"));
}

TEST(SqlGuard, TellsWhatItReads) {
  const auto guarded =
      GuardSql("SELECT country FROM pages JOIN calls USING (x) JOIN pages p USING (x)", Find);
  ASSERT_TRUE(guarded.ok()) << guarded.error().message;
  EXPECT_THAT(guarded->datasets, ::testing::ElementsAre("pages", "calls"));
  EXPECT_THAT(guarded->names, ::testing::Contains("country"));
}

}  // namespace
}  // namespace wf::store::clickhouse
