#include "client/runtime/hot_flags.h"

namespace wherefore::client {

HotFlags hot_flags;

}  // namespace wherefore::client
