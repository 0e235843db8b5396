/* RDMA for device code. */
#pragma once

#include <doca_dpa_dev.h>

/* An RDMA object: its receive queue with the count of connections, then their send queues. */
struct dpa_doca_rdma {
	struct dpa_doca_receiver receiver;
	struct dpa_doca_sender senders[];
};

/* The send queue of a connection, or none. */
DPA_DOCA_OWN struct dpa_doca_sender *dpa_doca_connection(doca_dpa_dev_rdma_t handle, uint32_t id)
{
	struct dpa_doca_rdma *rdma = (struct dpa_doca_rdma *)handle;

	return id < rdma->receiver.count ? &rdma->senders[id] : NULL;
}

DPA_DOCA_CALL void doca_dpa_dev_rdma_post_receive(doca_dpa_dev_rdma_t rdma,
						  doca_dpa_dev_mmap_t mmap, uint64_t address,
						  size_t bytes)
{
	struct dpa_doca_receiver *queue = &((struct dpa_doca_rdma *)rdma)->receiver;
	uint32_t next = (uint32_t)queue->next;

	dpa_doca_data(dpa_doca_receive(queue, next, 1), (uint32_t)bytes, mmap, address);
	queue->next = next + 1;
	dpa_doca_give(queue, next + 1);
}

DPA_DOCA_OWN void dpa_doca_remote(uint64_t *segment, uint32_t key, uint64_t address)
{
	segment[0] = cpu_to_be64(address);
	segment[1] = cpu_to_be64((uint64_t)key << 32);
}
/* `remote` is none, or a map with which `local` exchanges data. */
DPA_DOCA_CALL void dpa_doca_post(doca_dpa_dev_rdma_t rdma, uint32_t connection, uint32_t kind,
				 doca_dpa_dev_mmap_t remote, uint64_t remote_address,
				 doca_dpa_dev_mmap_t local, uint64_t address, size_t bytes,
				 uint32_t immediate, uint32_t flags)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(rdma, connection);
	uint64_t *segment;
	uint32_t next;

	if (!queue) {
		dpa_emulator_doca_wrong(DPA_DOCA_NO_CONNECTION, connection);
		return;
	}
	next = (uint32_t)queue->next;
	segment = dpa_doca_send(queue, next, kind, !(flags & DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS),
				immediate);
	if (remote) {
		dpa_doca_remote(segment, remote, remote_address);
		segment += 2;
	}
	dpa_doca_data(segment, (uint32_t)bytes, local, address);
	queue->next = next + 1;
	dpa_doca_ring(queue, next + 1, flags & DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH);
}
#define dpa_doca_post_send(rdma, connection, mmap, address, bytes, opcode, immediate, flags) \
	dpa_doca_post(rdma, connection, DPA_DOCA_KIND(opcode, 2), 0, 0, mmap, address, bytes,  \
		      immediate, flags)
#define dpa_doca_post_remote(rdma, connection, remote, remote_address, local, address, bytes, opcode, \
			     immediate, flags)                                                        \
	dpa_doca_post(rdma, connection, DPA_DOCA_KIND(opcode, 3), remote, remote_address, local,       \
		      address, bytes, immediate, flags)

/* Before 2.10 the calls took no connection. */
#define dpa_doca_send6(rdma, connection, mmap, address, bytes, flags) \
	dpa_doca_post_send(rdma, connection, mmap, address, bytes, 0x0a, 0, flags)
#define dpa_doca_send5(rdma, mmap, address, bytes, flags) \
	dpa_doca_send6(rdma, 0, mmap, address, bytes, flags)
#define DPA_DOCA_PICK6(_1, _2, _3, _4, _5, _6, name, ...) name
#define doca_dpa_dev_rdma_post_send(...) \
	DPA_DOCA_PICK6(__VA_ARGS__, dpa_doca_send6, dpa_doca_send5, )(__VA_ARGS__)
#define dpa_doca_send_imm7(rdma, connection, mmap, address, bytes, immediate, flags) \
	dpa_doca_post_send(rdma, connection, mmap, address, bytes, 0x0b, immediate, flags)
#define dpa_doca_send_imm6(rdma, mmap, address, bytes, immediate, flags) \
	dpa_doca_send_imm7(rdma, 0, mmap, address, bytes, immediate, flags)
#define DPA_DOCA_PICK7(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define doca_dpa_dev_rdma_post_send_imm(...) \
	DPA_DOCA_PICK7(__VA_ARGS__, dpa_doca_send_imm7, dpa_doca_send_imm6, )(__VA_ARGS__)
#define doca_dpa_dev_rdma_post_write(rdma, connection, to, to_address, from, from_address, bytes, \
				     flags)                                                       \
	dpa_doca_post_remote(rdma, connection, to, to_address, from, from_address, bytes, 0x08, 0, \
			     flags)
#define doca_dpa_dev_rdma_post_write_imm(rdma, connection, to, to_address, from, from_address, \
					 bytes, immediate, flags)                              \
	dpa_doca_post_remote(rdma, connection, to, to_address, from, from_address, bytes, 0x09, \
			     immediate, flags)
#define doca_dpa_dev_rdma_post_read(rdma, connection, to, to_address, from, from_address, bytes, \
				    flags)                                                       \
	dpa_doca_post_remote(rdma, connection, from, from_address, to, to_address, bytes, 0x10, 0, \
			     flags)

/* Changes an event of the peer, after all that was posted before: `how` is 1 to set it, 2 to add. */
DPA_DOCA_CALL void dpa_doca_signal(doca_dpa_dev_rdma_t rdma, uint32_t connection,
				   doca_dpa_dev_sync_event_remote_net_t event, uint32_t how,
				   uint64_t value)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(rdma, connection);
	uint64_t *segment;
	uint32_t next;

	if (!queue) {
		dpa_emulator_doca_wrong(DPA_DOCA_NO_CONNECTION, connection);
		return;
	}
	next = (uint32_t)queue->next;
	segment = dpa_doca_send(queue, next, DPA_DOCA_KIND(0x7e, 3), 0, 0);
	dpa_doca_remote(segment, how, event);
	dpa_doca_data(segment + 2, 0, 0, value);
	queue->next = next + 1;
	dpa_doca_ring(queue, next + 1, 1);
}
#define doca_dpa_dev_rdma_signal_set(rdma, connection, event, count) \
	dpa_doca_signal(rdma, connection, event, 1, count)
#define doca_dpa_dev_rdma_signal_add(rdma, connection, event, count) \
	dpa_doca_signal(rdma, connection, event, 2, count)
