// Information flow: which labels of the policy the program's memory carries, while it runs, and what may leave it.
//
// A page has a set of labels. An input that the policy names labels the pages it fills; a sub-computation has
// the labels of every page it touched and every input it read, and gives them to every page it wrote when it
// ends; an output has the labels of the running sub-computation and of the bytes it sends. This is lineage,
// computed while the program runs: at the granularity of pages, so it may contain too much.
#pragma once

#include <cstdint>

#include "recorder/preload/data/channels.h"

namespace wf::recorder::data {

struct Flow;

// Called once, after Begin: reads the policy, if there is one. nullptr, or one line that says why it cannot
// be enforced.
const char* StartFlow();
bool FlowIsWatched();

// The labels of an input: from its name, and from what the program wrote to the same file, pipe or socket
// pair before.
uint64_t LabelsOfInput(int fd, const Channel& channel);
uint64_t LabelsOfPages(uint64_t address, uint64_t length);
// The labels of everything that the running sub-computation has touched so far.
uint64_t LabelsOfRunning();

void LabelPages(uint64_t address, uint64_t length, uint64_t labels);
void LabelRunning(uint64_t labels);
// For new memory, or that of a file: sets exactly these labels.
void RelabelPages(uint64_t address, uint64_t length, uint64_t labels);

// The policy's verdict on labelled data that is about to go out: 0, kDenied or kReported. If it goes, the
// channel gets the labels.
uint16_t JudgeOutput(int fd, const Channel& channel, uint64_t labels);

// Called when a sub-computation ends, before its pages are collected; then for each run that it wrote.
void GatherLabels();
void LabelWritten(uint64_t start, uint64_t end);

}  // namespace wf::recorder::data
