#include "answer/frame/saved_document.h"

#include <mutex>

#include "base/hash.h"
#include "base/ids.h"
#include "json/json_writer.h"

namespace wf::answer {

std::string RevisionOf(std::string_view text) { return ToHex64(HashBytes(text)); }

Result<std::optional<store::Document>> FindDocument(const AnswerContext& context,
                                                    const DocumentPlace& place) {
  WF_ASSIGN(const auto documents, context.store.ReadDocuments(context.tenant, place.kind));
  for (const store::Document& document : documents) {
    if (document.name == place.name) return std::optional<store::Document>(document);
  }
  return std::optional<store::Document>();
}

Result<bool> PutIfUnchanged(const AnswerContext& context, const DocumentPlace& place,
                            std::string_view text, const std::optional<std::string>& expected) {
  // The store cannot compare and put in one step. Saves are rare, and one process holds the store: they wait here.
  static std::mutex saving;
  const std::lock_guard lock(saving);
  if (expected) {
    WF_ASSIGN(const auto there, FindDocument(context, place));
    if (*expected != (there ? RevisionOf(there->text) : "")) return false;
  }
  WF_TRY(context.store.PutDocument(context.tenant, place.kind, place.name, text));
  return true;
}

SaveOutcome ConflictOn(const std::string& what) {
  JsonWriter json;
  json.BeginObject().Key("error").BeginObject();
  json.Field("code", "conflict")
      .Field("message", what + ": it was changed since you read it; nothing was saved")
      .Field("hint",
             "read it again and repeat the change, or save without revision to overwrite it")
      .EndObject()
      .EndObject();
  return {JsonAnswer(json.Take()), SaveOutcome::Kind::kConflict};
}

}  // namespace wf::answer
