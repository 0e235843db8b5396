/* Types that the headers of DOCA share, of host and device. Names and meanings are those of the
 * public API pages and of the BSD-3 samples; layouts are this emulator's own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* Programs rely on it. */
#include <string.h>

#define DOCA_EXPERIMENTAL
#define DOCA_STABLE
#define DOCA_USED __attribute__((used))

#ifndef __DPA__
/* Marks of device code, which headers of both parts use. */
#define __dpa_global__
#define __dpa_rpc__
#endif

/* In the order of the wire. */
typedef uint32_t doca_be32_t;

union doca_data {
	void *ptr;
	uint64_t u64;
};

enum doca_access_flag {
	DOCA_ACCESS_FLAG_LOCAL_READ_ONLY = 0,
	DOCA_ACCESS_FLAG_LOCAL_READ_WRITE = 1 << 0,
	DOCA_ACCESS_FLAG_RDMA_READ = 1 << 1,
	DOCA_ACCESS_FLAG_RDMA_WRITE = 1 << 2,
	DOCA_ACCESS_FLAG_RDMA_ATOMIC = 1 << 3,
	DOCA_ACCESS_FLAG_DPU_READ_ONLY = 1 << 4,
	DOCA_ACCESS_FLAG_DPU_READ_WRITE = 1 << 5,
	DOCA_ACCESS_FLAG_PCI_READ_ONLY = 1 << 6,
	DOCA_ACCESS_FLAG_PCI_READ_WRITE = 1 << 7,
	DOCA_ACCESS_FLAG_PCI_RELAXED_ORDERING = 1 << 8,
};

enum doca_pci_func_type {
	DOCA_PCI_FUNC_TYPE_PF = 0,
	DOCA_PCI_FUNC_TYPE_VF = 1,
	DOCA_PCI_FUNC_TYPE_SF = 2,
};

/* Handles of device code. */
typedef uint64_t doca_dpa_dev_uintptr_t;
typedef uint64_t doca_dpa_dev_t;
typedef uint64_t doca_dpa_dev_completion_t;
typedef uint64_t doca_dpa_dev_completion_element_t;
typedef uint64_t doca_dpa_dev_notification_completion_t;
typedef uint64_t doca_dpa_dev_sync_event_t;
typedef uint64_t doca_dpa_dev_sync_event_remote_net_t;
typedef uint64_t doca_dpa_dev_rdma_t;
typedef uint64_t doca_dpa_dev_verbs_eth_sq_t;
typedef uint64_t doca_dpa_dev_verbs_eth_rq_t;
typedef uint64_t doca_dpa_dev_verbs_qp_t;
typedef uint32_t doca_dpa_dev_mmap_t;
/* Of objects that are not emulated. */
typedef uint64_t doca_dpa_dev_async_ops_t;
typedef uint64_t doca_dpa_dev_buf_t;
typedef uint64_t doca_dpa_dev_buf_arr_t;
typedef uint64_t doca_dpa_dev_hash_table_t;
typedef uint64_t doca_dpa_dev_comch_consumer_t;
typedef uint64_t doca_dpa_dev_comch_consumer_completion_t;
typedef uint64_t doca_dpa_dev_comch_consumer_completion_element_t;
typedef uint64_t doca_dpa_dev_comch_producer_t;
typedef uint64_t doca_dpa_dev_devemu_pci_db_t;
typedef uint64_t doca_dpa_dev_devemu_pci_db_completion_t;
typedef uint64_t doca_dpa_dev_devemu_pci_db_completion_element_t;
typedef uint64_t doca_dpa_dev_devemu_pci_msix_t;

struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_dpa_app;
struct doca_ctx;
