/* Calls of device code that exist and are not emulated. They take any arguments. A line names the call,
 * and the process ends in an error state: nothing goes on as if the call had worked.
 */
#pragma once

uint64_t dpa_emulator_doca_refused(const char *call, ...);

#define doca_dpa_dev_trace(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_trace", ##__VA_ARGS__)
#define doca_dpa_dev_trace_flush(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_trace_flush", ##__VA_ARGS__)
#define doca_dpa_dev_post_memcpy(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_post_memcpy", ##__VA_ARGS__)
#define doca_dpa_dev_sync_event_post_wait_gt(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_sync_event_post_wait_gt", ##__VA_ARGS__)
#define doca_dpa_dev_sync_event_post_wait_ne(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_sync_event_post_wait_ne", ##__VA_ARGS__)
#define doca_dpa_dev_buf_array_get_buf(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_buf_array_get_buf", ##__VA_ARGS__)
#define doca_dpa_dev_buf_get_external_ptr(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_buf_get_external_ptr", ##__VA_ARGS__)
#define doca_dpa_dev_hash_table_add(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_hash_table_add", ##__VA_ARGS__)
#define doca_dpa_dev_hash_table_remove(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_hash_table_remove", ##__VA_ARGS__)
#define doca_dpa_dev_hash_table_find(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_hash_table_find", ##__VA_ARGS__)
#define doca_dpa_dev_rdma_post_atomic_fetch_add(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_rdma_post_atomic_fetch_add", ##__VA_ARGS__)
#define doca_dpa_dev_rdma_receive_ack(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_rdma_receive_ack", ##__VA_ARGS__)
#define doca_dpa_dev_rdma_completion_get_wr_index(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_rdma_completion_get_wr_index", ##__VA_ARGS__)
#define doca_dpa_dev_comch_consumer_ack(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_consumer_ack", ##__VA_ARGS__)
#define doca_dpa_dev_comch_consumer_completion_ack(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_consumer_completion_ack", ##__VA_ARGS__)
#define doca_dpa_dev_comch_consumer_completion_request_notification(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_consumer_completion_request_notification", ##__VA_ARGS__)
#define doca_dpa_dev_comch_consumer_get_completion(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_consumer_get_completion", ##__VA_ARGS__)
#define doca_dpa_dev_comch_consumer_get_completion_imm(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_consumer_get_completion_imm", ##__VA_ARGS__)
#define doca_dpa_dev_comch_producer_post_send_imm_only(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_producer_post_send_imm_only", ##__VA_ARGS__)
#define doca_dpa_dev_comch_producer_dma_copy(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_producer_dma_copy", ##__VA_ARGS__)
#define doca_dpa_dev_comch_producer_is_consumer_empty(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_comch_producer_is_consumer_empty", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_completion_ack(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_completion_ack", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_completion_bind_db(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_completion_bind_db", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_completion_element_get_db_properties(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_completion_element_get_db_properties", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_completion_request_notification(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_completion_request_notification", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_completion_unbind_db(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_completion_unbind_db", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_get_value(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_get_value", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_db_request_notification(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_db_request_notification", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_get_db_completion(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_get_db_completion", ##__VA_ARGS__)
#define doca_dpa_dev_devemu_pci_msix_raise(...) \
	dpa_emulator_doca_refused("doca_dpa_dev_devemu_pci_msix_raise", ##__VA_ARGS__)
