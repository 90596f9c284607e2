// The topics of a bus: found, or made.
#pragma once

#include "bus/kafka/kafka_client.h"

namespace wf::bus::kafka {

// How many partitions the topic has; kNotFound when there is no such topic.
Result<int32_t> CountPartitions(rd_kafka_t* client, const KafkaShared& shared,
                                const std::string& topic, Nanos patience);

// The pieces' topic as asked for, that of the notes with as many partitions as the pieces' has, and the one of what
// cannot be used. Returns the number of partitions of the first.
Result<int32_t> EnsureTopics(rd_kafka_t* client, KafkaShared& shared);

}  // namespace wf::bus::kafka
