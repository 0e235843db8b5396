/* Sync events. Device parts include this header for its types. */
#pragma once

#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_sync_event;
struct doca_sync_event_remote_net;

doca_error_t doca_sync_event_create(struct doca_sync_event **event);
doca_error_t doca_sync_event_destroy(struct doca_sync_event *event);
doca_error_t doca_sync_event_start(struct doca_sync_event *event);
doca_error_t doca_sync_event_stop(struct doca_sync_event *event);
doca_error_t doca_sync_event_add_publisher_location_cpu(struct doca_sync_event *event,
							struct doca_dev *device);
doca_error_t doca_sync_event_add_subscriber_location_cpu(struct doca_sync_event *event,
							 struct doca_dev *device);
doca_error_t doca_sync_event_add_publisher_location_dpa(struct doca_sync_event *event,
							struct doca_dpa *dpa);
doca_error_t doca_sync_event_add_subscriber_location_dpa(struct doca_sync_event *event,
							 struct doca_dpa *dpa);
doca_error_t doca_sync_event_get_dpa_handle(struct doca_sync_event *event, struct doca_dpa *dpa,
					    doca_dpa_dev_sync_event_t *handle);
doca_error_t doca_sync_event_get(struct doca_sync_event *event, uint64_t *value);
doca_error_t doca_sync_event_update_set(struct doca_sync_event *event, uint64_t value);
doca_error_t doca_sync_event_update_add(struct doca_sync_event *event, uint64_t value,
					uint64_t *before);
doca_error_t doca_sync_event_wait_gt(struct doca_sync_event *event, uint64_t value, uint64_t mask);
doca_error_t doca_sync_event_wait_neq(struct doca_sync_event *event, uint64_t value, uint64_t mask);

/* Events that a connection's peer changes, in this program or in another one. */
doca_error_t doca_sync_event_add_publisher_location_remote_net(struct doca_sync_event *event);
doca_error_t doca_sync_event_export_to_remote_net(struct doca_sync_event *event,
						  const uint8_t **data, size_t *bytes);
doca_error_t doca_sync_event_remote_net_create_from_export(struct doca_dev *device,
							   const uint8_t *data, size_t bytes,
							   struct doca_sync_event_remote_net **event);
doca_error_t doca_sync_event_remote_net_get_dpa_handle(struct doca_sync_event_remote_net *event,
						       struct doca_dpa *dpa,
						       doca_dpa_dev_sync_event_remote_net_t *handle);
doca_error_t doca_sync_event_remote_net_destroy(struct doca_sync_event_remote_net *event);

#ifdef __cplusplus
}
#endif
