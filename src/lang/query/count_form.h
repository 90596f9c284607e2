// The counting form of a query (Pivot Tracing §4): run it first to learn what the query itself would carry. It weaves
// the same advice, but instead of tuples every slot carries two numbers, how many tuples it would hold and how many
// bytes they would take, so its own baggage stays small whatever the query does.
//
// It is a program like any other and is run, merged and shown like one. Its answer is at most one row:
//
//   arrivals         From events that found something in every slot (a request may have several)
//   tuples_average   … and how many tuples they found, all slots together
//   tuples_max
//   bytes_average    … in about how many bytes
//   bytes_max
//
// The numbers lean to the high side: equal tuples that would travel as one are counted each, and conditions that compare
// different aliases are not tested, because what they compare does not travel here. First and MostRecent keep their
// limits, and a slot that carries only aggregates counts as the one tuple it is.
#pragma once

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

Result<Compiled> Counting(const Query& query);

}  // namespace wf::query
