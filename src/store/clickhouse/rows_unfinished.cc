// Rows' side, until it is there.
#include "store/clickhouse/store_impl.h"

namespace wf {
namespace {
Error Unfinished(const char* what) {
  return EnvironmentError(std::string("ClickHouse store: ") + what + ": not there yet");
}
}  // namespace

Status ClickhouseStore::AppendMessages(const std::string&, const std::vector<Message>&) {
  return Unfinished("messages");
}
Result<std::vector<Message>> ClickhouseStore::ReadMessages(const std::string&, TimeRange) {
  return Unfinished("messages");
}
Status ClickhouseStore::PutAttachment(const std::string&, const Attachment&) {
  return Unfinished("attachments");
}
Result<std::vector<Attachment>> ClickhouseStore::ReadAttachments(const std::string&, TraceId) {
  return Unfinished("attachments");
}
Status ClickhouseStore::WriteClocks(const std::string&, const std::vector<ClockOffset>&) {
  return Unfinished("clocks");
}
Result<std::vector<ClockOffset>> ClickhouseStore::ReadClocks(const std::string&, TimeRange) {
  return Unfinished("clocks");
}
Status ClickhouseStore::PutDocument(const std::string&, const std::string&, const std::string&,
                                    std::string_view) {
  return Unfinished("documents");
}
Result<std::vector<Document>> ClickhouseStore::ReadDocuments(const std::string&,
                                                             const std::string&) {
  return Unfinished("documents");
}
Status ClickhouseStore::DeleteDocument(const std::string&, const std::string&, const std::string&) {
  return Unfinished("documents");
}
Status ClickhouseStore::WriteRows(const std::string&, const std::string&, const DatasetTable&,
                                  const RowReplacement&) {
  return Unfinished("datasets");
}
Result<DatasetRows> ClickhouseStore::QueryRows(const std::string&, const std::string&,
                                               const DatasetQuery&) {
  return Unfinished("datasets");
}
Result<std::vector<DatasetStatus>> ClickhouseStore::ReadDatasets(const std::string&) {
  return Unfinished("datasets");
}
Status ClickhouseStore::DropDataset(const std::string&, const std::string&) {
  return Unfinished("datasets");
}
Status ClickhouseStore::RetainRows(const std::string&, const std::string&, const RowRetention&) {
  return Unfinished("datasets");
}
Result<SqlRows> ClickhouseStore::RunSql(const std::string&, const std::string&) {
  return Unfinished("SQL");
}
Status ClickhouseStore::CountRows(const std::string&, StoreStatus&) { return {}; }
Status ClickhouseStore::RetainSides(const RetentionPolicy&) { return {}; }

}  // namespace wf
