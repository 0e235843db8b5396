/* RDMA for device code. */
#pragma once

#include <doca_dpa_dev.h>

/* An RDMA object: its receive queue with the count of connections, then their send queues. */
struct dpa_doca_rdma {
	struct dpa_doca_receiver receiver;
	struct dpa_doca_sender senders[];
};

/* The send queue of a connection, or none. */
DPA_DOCA_CALL struct dpa_doca_sender *dpa_doca_connection(doca_dpa_dev_rdma_t handle, uint32_t id)
{
	struct dpa_doca_rdma *rdma = (struct dpa_doca_rdma *)handle;

	if (id < rdma->receiver.count)
		return &rdma->senders[id];
	dpa_emulator_doca_wrong(DPA_DOCA_NO_CONNECTION, id);
	return NULL;
}

DPA_DOCA_CALL void doca_dpa_dev_rdma_post_receive(doca_dpa_dev_rdma_t rdma,
						  doca_dpa_dev_mmap_t mmap, uint64_t address,
						  size_t bytes)
{
	struct dpa_doca_receiver *queue = &((struct dpa_doca_rdma *)rdma)->receiver;

	dpa_doca_receive(queue, mmap, address, (uint32_t)bytes);
	dpa_doca_give(queue);
}

DPA_DOCA_CALL void dpa_doca_post_send(doca_dpa_dev_rdma_t rdma, uint32_t connection,
				      doca_dpa_dev_mmap_t mmap, uint64_t address, size_t bytes,
				      uint32_t opcode, uint32_t immediate, uint32_t flags)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(rdma, connection);
	uint64_t *segment;

	if (!queue)
		return;
	segment = dpa_doca_send(queue, opcode, 2, !(flags & DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS),
				immediate);
	dpa_doca_data(segment, (uint32_t)bytes, mmap, address);
	dpa_doca_ring(queue, flags & DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH);
}
/* `remote` and `local` are maps; a write goes from local to remote, a read the other way. */
DPA_DOCA_CALL void dpa_doca_post_remote(doca_dpa_dev_rdma_t rdma, uint32_t connection,
					doca_dpa_dev_mmap_t remote, uint64_t remote_address,
					doca_dpa_dev_mmap_t local, uint64_t local_address,
					size_t bytes, uint32_t opcode, uint32_t immediate,
					uint32_t flags)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(rdma, connection);
	uint64_t *segment;

	if (!queue)
		return;
	segment = dpa_doca_send(queue, opcode, 3, !(flags & DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS),
				immediate);
	segment[0] = cpu_to_be64(remote_address);
	segment[1] = dpa_doca_words(remote, 0);
	dpa_doca_data(segment + 2, (uint32_t)bytes, local, local_address);
	dpa_doca_ring(queue, flags & DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH);
}

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

/* Not emulated: a line, and nothing else. */
#define doca_dpa_dev_rdma_post_atomic_fetch_add(...) doca_dpa_dev_trace(__VA_ARGS__)
#define doca_dpa_dev_rdma_signal_add(...) doca_dpa_dev_trace(__VA_ARGS__)
#define doca_dpa_dev_rdma_signal_set(...) doca_dpa_dev_trace(__VA_ARGS__)
