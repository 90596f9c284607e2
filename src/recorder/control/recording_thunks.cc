#include "recorder/control/recording_thunks.h"

#include "recorder/control/module_code.h"
#include "recorder/control/thunk_reader.h"
#include "recorder/reader/chunk_reader.h"

namespace wf::recorder {

Result<ThunksRead> ReadThunks(const Recording& recording, SubId sub, const SourcedThunkSink& sink) {
  const SubComputation& asked = recording.subs[sub];
  ModuleCode code(recording, asked.start_ns);
  ThunksRead out;
  ThunkQuestion question;
  question.index = asked.index;
  // The call that ended the one before returns to where this one begins.
  if (asked.index != 0) question.opened_at = recording.subs[sub - 1].site;
  question.code = [&code](uint64_t address) { return code.At(address); };
  ThunkReader* source = nullptr;
  ThunkReader reader(std::move(question), [&](const Thunk& thunk) {
    ++out.thunks;
    sink(*source->source(), thunk);
  });
  source = &reader;
  WF_ASSIGN(ReadAt bytes, FromFile(recording.file));
  WF_ASSIGN(ChunkReader chunks, ChunkReader::Open(std::move(bytes), recording.file));
  Chunk chunk;
  for (;;) {
    WF_ASSIGN(const bool more, chunks.Next(chunk));
    if (!more) break;
    if (chunk.kind == ChunkKind::kBranches && chunk.thread == asked.thread)
      reader.Read(chunk.payload);
  }
  reader.Finish();
  out.source = reader.source();
  out.gaps = reader.gaps();
  return out;
}

}  // namespace wf::recorder
