// What a query asks of one row. Engines narrow by whatever index they have; this decides, so that every engine and
// the rows still in memory give the same answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/event_batch.h"
#include "store/store.h"

namespace wf::store {

// The repaired end of a row: no end, or an end before its start, is the start.
Nanos RepairedEnd(const EventBatch& batch, size_t row);

// Does the value read as this text? The same as ValueText(value) == text, without making the text.
bool ValueHasText(const Value& value, std::string_view text);
// Has the row, its scope or its process an attribute with this key and text?
bool HasAttribute(const EventBatch& batch, size_t row, std::string_view key, std::string_view text);

// Keys asked for by OnResource, by their attribute's name; kHost is the process's host.
std::string_view ResourceKeyName(ResourceKey key);

// Does the row overlap the half-open range? A row without length does when its instant lies in it.
bool Overlaps(const EventBatch& batch, size_t row, TimeRange time);

// Has the query conditions on single rows at all?
bool HasRowConditions(const TraceQuery& query);
bool RowMatches(const EventBatch& batch, size_t row, const TraceQuery& query);
bool RowMatches(const EventBatch& batch, size_t row, const ResourceQuery& query);
// The conditions on the whole trace, the cursor included.
bool TraceMatches(const TraceSummary& trace, const TraceQuery& query);
// Newest first: does a come before b in search results?
bool ComesBefore(const SearchCursor& a, const SearchCursor& b);

// False when no row of the batch can match: one look at the batch's texts instead of one per row.
bool BatchMayMatch(const EventBatch& batch, const TraceQuery& query);

}  // namespace wf::store
