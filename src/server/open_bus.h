// A bus by its URL: kafka://… (bus/kafka/kafka_bus.h) is shared by the processes of a cluster; memory:// is in this process,
// for a single one that is to work as a cluster does (tests).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "bus/bus.h"

namespace wf::server {

Status CheckBusUrl(const std::string& url);
// memory://: nobody else can see it.
bool BusIsInProcess(const std::string& url);
// Without what may be secret.
std::string ShownBusUrl(const std::string& url);
// `config_file`: of properties; empty: none. Brokers that are away are waited for, for some seconds.
Result<std::unique_ptr<bus::Bus>> OpenBus(const std::string& url, const std::string& config_file);

}  // namespace wf::server
