/* Pools of buffers: not emulated. The calls are there, and refuse. */
#pragma once

#include <doca_buf.h>
#include <doca_dpa.h>
#include <doca_pe.h>
