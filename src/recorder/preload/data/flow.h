// Information flow: which labels of the policy the program's memory carries, while it runs, and what may leave it.
//
// A page has a set of labels. An input that the policy names labels the pages it fills; a sub-computation has the labels
// of every page it touched and every input it read, and gives them to every page it wrote when it ends; an output has
// the labels of the running sub-computation and of the bytes it sends. That is lineage, kept live: at the granularity of
// pages, so it may hold too much.
#pragma once

#include <cstdint>

#include "recorder/preload/data/channels.h"

namespace wf::recorder::data {

struct Flow;

// Once, after Begin: reads the policy, if there is one. nullptr, or one line why it cannot be kept.
const char* StartFlow();
bool FlowIsWatched();

// What an input carries: by its name, and by what the program wrote to the same file, pipe or socket pair before.
uint64_t LabelsOfInput(int fd, const Channel& channel);
uint64_t LabelsOfPages(uint64_t address, uint64_t length);
// Of all that the running sub-computation has touched so far.
uint64_t LabelsOfRunning();

void LabelPages(uint64_t address, uint64_t length, uint64_t labels);
void LabelRunning(uint64_t labels);
// Fresh memory, or that of a file: these labels and no others.
void RelabelPages(uint64_t address, uint64_t length, uint64_t labels);

// What the policy says of labelled data that is about to go out: 0, kDenied or kReported. What goes, the channel carries.
uint16_t JudgeOutput(int fd, const Channel& channel, uint64_t labels);

// When a sub-computation ends, before its pages are collected; then for each run that it wrote.
void GatherLabels();
void LabelWritten(uint64_t start, uint64_t end);

}  // namespace wf::recorder::data
