// What libwherefore.so shows to its users; everything else in it is hidden.
#pragma once

#define WHEREFORE_API __attribute__((visibility("default")))
