/* Device part: scenes that are right, and errors in the lines with their marks. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_verbs.h>
#include <dpaintrin.h>
#include "common.h"

#define FLUSH DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH
#define QUIET DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS

/* Kernels: each thread adds its rank and what it was given. */
__dpa_global__ static void add_ranks(uint64_t address, uint32_t factor, struct three more)
{
	uint64_t *sums = (uint64_t *)address;
	unsigned int rank = doca_dpa_dev_thread_rank();

	sums[rank] += rank * factor + more.first + more.second + (uint64_t)more.third +
		      1000 * doca_dpa_dev_num_threads();
	__dpa_thread_memory_writeback();
}

__dpa_global__ void nothing(void)
{
}

/* One of its threads crashes. */
__dpa_global__ void crashes(uint64_t address)
{
	if (doca_dpa_dev_thread_rank() == 2)
		*(volatile uint64_t *)(address & 8) = 1; /* ERROR crash */
}

/* Waits for the host, and answers with what it saw. */
__dpa_global__ void waits_for_host(uint64_t event, uint64_t answer, uint64_t above)
{
	uint64_t value;

	doca_dpa_dev_sync_event_wait_gt(event, above, 0xffff);
	doca_dpa_dev_sync_event_get(event, &value);
	doca_dpa_dev_sync_event_update_set(answer, value * 10); /* ERROR two_waiters */
}

__dpa_global__ void waits_as_well(uint64_t event)
{
	doca_dpa_dev_sync_event_wait_gt(event, 0, -1ul); /* ERROR second_waiter */
}

/* Threads. */
__dpa_global__ void ranked(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	uint64_t *own = (uint64_t *)doca_dpa_dev_thread_get_local_storage();

	*own = 100 * doca_dpa_dev_thread_rank() + doca_dpa_dev_num_threads();
	__dpa_thread_memory_writeback();
	doca_dpa_dev_sync_event_update_add(work->event, 1);
	doca_dpa_dev_thread_reschedule();
}

__dpa_rpc__ uint64_t notify_all(uint64_t notifications, uint64_t count)
{
	for (uint64_t at = 0; at < count; at++)
		doca_dpa_dev_thread_notify(((uint64_t *)notifications)[at]); /* ERROR no_attribute */
	return count;
}

static void receive(struct work *work)
{
	doca_dpa_dev_rdma_post_receive(work->rdma, work->key, work->buffer, 8);
}

/* Each message adds its value, its immediate and its connection. */
__dpa_global__ void on_message(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	uint64_t *results = (uint64_t *)work->results;
	doca_dpa_dev_completion_element_t element;

	if (work->device)
		doca_dpa_dev_device_set(work->device);
	while (doca_dpa_dev_get_completion(work->completion, &element)) {
		results[0]++;
		results[1] += *(volatile uint64_t *)work->buffer;
		results[2] += doca_dpa_dev_get_completion_immediate(element);
		results[3] += doca_dpa_dev_get_completion_user_data(element);
		results[4] += doca_dpa_dev_get_completion_type(element);
		results[5] += doca_dpa_dev_completion_element_get_received_bytes(element);
		if (work->mode == TOO_MANY_ACKS) {
			doca_dpa_dev_completion_ack(work->completion, 3); /* ERROR too_many_acks */
			doca_dpa_dev_thread_finish();
		}
		if (work->mode != NOT_REPOSTED)
			receive(work);
		doca_dpa_dev_completion_ack(work->completion, 1);
		if (work->mode == AFTER_ACK)
			results[6] = doca_dpa_dev_get_completion_immediate(element); /* ERROR after_ack */
		if (work->mode == NOT_FLUSHED)
			doca_dpa_dev_rdma_post_send(work->rdma, 0, work->key, work->buffer, 8, QUIET); /* ERROR not_flushed */
	}
	if (work->mode == WINDOW_NOT_FENCED) {
		uint64_t *host = (uint64_t *)doca_dpa_dev_mmap_get_external_ptr(work->host_key,
										work->host_memory);
		*host = 77;
		doca_dpa_dev_sync_event_update_add(work->event, 1); /* ERROR window_not_fenced */
		__dpa_thread_window_writeback();
	}
	__dpa_thread_memory_writeback();
	if (work->mode == NOT_FENCED)
		results[7] = 5; /* ERROR not_fenced */
	doca_dpa_dev_sync_event_update_set(work->event, results[0]);
	if (work->mode == NOT_FENCED)
		doca_dpa_dev_thread_finish();
	if (work->mode != NO_REQUEST)
		doca_dpa_dev_completion_request_notification(work->completion);
	doca_dpa_dev_thread_reschedule(); /* ERROR no_request */
}

__dpa_global__ void sleeps(uint64_t argument)
{
	(void)argument;
	doca_dpa_dev_thread_reschedule();
}

__dpa_rpc__ uint64_t post_receives(uint64_t argument, uint64_t count)
{
	struct work *work = (struct work *)argument;

	for (uint64_t at = 0; at < count; at++)
		receive(work);
	return 0;
}

/* Sends 1, 2, ... over a connection, each with an immediate. The peer has one buffer. */
__dpa_rpc__ uint64_t send_to(uint64_t argument, uint32_t connection, uint64_t value, uint32_t device)
{
	struct work *work = (struct work *)argument;

	if (device && work->device)
		doca_dpa_dev_device_set(work->device);
	*(volatile uint64_t *)work->other_buffer = value;
	doca_dpa_dev_rdma_post_send_imm(work->other_rdma, connection, work->other_key, /* ERROR no_device */
					work->other_buffer, 8, (uint32_t)value * 100, FLUSH | QUIET);
	return value;
}

/* A write of the first buffer and a read back into the second, with completions that are polled. */
__dpa_rpc__ uint64_t write_and_read(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	doca_dpa_dev_completion_element_t element;
	volatile uint64_t *own = (volatile uint64_t *)work->other_buffer;
	uint64_t operations = 0;

	if (work->device)
		doca_dpa_dev_device_set(work->device);
	own[0] = 4711;
	own[1] = 0;
	doca_dpa_dev_rdma_post_write(work->other_rdma, 0, work->key, work->buffer, work->other_key,
				     work->other_buffer, 8, 0);
	doca_dpa_dev_rdma_post_read(work->other_rdma, 0, work->other_key, work->other_buffer + 8,
				    work->key, work->buffer, 8, FLUSH);
	for (int at = 0; at < 2; at++) {
		while (!doca_dpa_dev_get_completion(work->other_completion, &element))
			;
		operations = 10 * operations + doca_dpa_dev_get_completion_type(element) + 1;
		doca_dpa_dev_completion_ack(work->other_completion, 1);
	}
	return own[1] * 100 + operations;
}

/* Writes many bytes to the peer and reads them back. Answers how many are the same. */
__dpa_rpc__ uint64_t copies(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	doca_dpa_dev_completion_element_t element;
	uint8_t *own = (uint8_t *)work->other_buffer;
	uint64_t same = 0;

	for (uint32_t at = 0; at < work->count; at++)
		own[at] = (uint8_t)(at % 251 + 1);
	__dpa_thread_memory_writeback();
	doca_dpa_dev_rdma_post_write(work->other_rdma, 1, work->key, work->buffer, work->other_key,
				     work->other_buffer, work->count, QUIET);
	doca_dpa_dev_rdma_post_read(work->other_rdma, 1, work->other_key,
				    work->other_buffer + work->count, work->key, work->buffer,
				    work->count, FLUSH);
	while (!doca_dpa_dev_get_completion(work->other_completion, &element))
		;
	doca_dpa_dev_completion_ack(work->other_completion, 1);
	for (uint32_t at = 0; at < work->count; at++)
		same += own[work->count + at] == (uint8_t)(at % 251 + 1);
	return same;
}

/* Takes completions until one is of an own operation, or until so many messages have come. */
static void take(struct work *work, volatile uint64_t *own, uint64_t messages)
{
	doca_dpa_dev_completion_element_t element;
	int is_own = 0;

	while (!is_own && own[HEARD] < messages) {
		if (!doca_dpa_dev_get_completion(work->other_completion, &element))
			continue;
		is_own = doca_dpa_dev_get_completion_type(element) == DOCA_DPA_DEV_COMP_SEND;
		if (!is_own) {
			own[HEARD]++;
			own[HEARD_SUM] += doca_dpa_dev_get_completion_immediate(element);
		}
		doca_dpa_dev_completion_ack(work->other_completion, 1);
	}
}

/* An atomic of the hardware, for which the API has no public call. */
static void atomic(struct work *work, uint32_t connection, uint32_t opcode, uint64_t word, uint64_t value,
		   uint32_t flags)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(work->other_rdma, connection);
	uint32_t next = (uint32_t)queue->next;
	uint64_t *segment = dpa_doca_send(queue, next, DPA_DOCA_KIND(opcode, 4), !(flags & QUIET), 0);

	dpa_doca_remote(segment, work->key, work->buffer + 8 * word);
	segment[2] = cpu_to_be64(value);
	segment[3] = 0;
	dpa_doca_data(segment + 4, 8, work->other_key, work->other_buffer + 8 * WAS);
	queue->next = next + 1;
	dpa_doca_ring(queue, next + 1, flags & FLUSH);
}

__dpa_rpc__ uint64_t awaits(uint64_t argument)
{
	struct work *work = (struct work *)argument;

	for (int at = 1; at < PROGRAMS; at++)
		doca_dpa_dev_rdma_post_receive(work->other_rdma, work->other_key,
					       work->other_buffer + 8 * LANDS, 8);
	return 0;
}

/* Does all that there is to another program. Answers whether this one was first. */
__dpa_rpc__ uint64_t visits(uint64_t argument, uint64_t rank, uint32_t connection)
{
	struct work *work = (struct work *)argument;
	volatile uint64_t *own = (volatile uint64_t *)work->other_buffer;
	uint64_t out = work->other_buffer + 8 * OUT;

	own[OUT] = 100 + rank;
	doca_dpa_dev_rdma_post_write(work->other_rdma, connection, work->key,
				     work->buffer + 8 * (WRITTEN + rank), work->other_key, out, 8, QUIET);
	atomic(work, connection, 0x12, ADDED, rank + 1, QUIET);
	atomic(work, connection, 0x11, FIRST, rank + 1, FLUSH);
	take(work, own, PROGRAMS);
	doca_dpa_dev_rdma_post_send_imm(work->other_rdma, connection, work->other_key, out, 8,
					(uint32_t)rank + 1, FLUSH | QUIET);
	doca_dpa_dev_rdma_signal_add(work->other_rdma, connection, work->second, 1);
	return own[WAS] == 0;
}

/* A pair of verbs sends to another one, writes its memory, and reads that. Answers the types of all
 * completions, as digits, each with one added. */
__dpa_rpc__ uint64_t by_verbs(uint64_t left, uint64_t right, uint64_t completions, uint64_t buffer, uint32_t key)
{
	static const uint32_t opcodes[] = { DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_SEND,
					    DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_WRITE,
					    DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_READ };
	struct doca_dpa_dev_verbs_sge at = { buffer + 8, 8, key };
	struct doca_dpa_dev_verbs_recv_wr receive;
	struct doca_dpa_dev_verbs_send_wr send;
	doca_dpa_dev_completion_element_t element;
	uint64_t types = 0;

	*(volatile uint64_t *)buffer = 4711;
	doca_dpa_dev_verbs_recv_wr_set_sg_list(&receive, &at);
	doca_dpa_dev_verbs_recv_wr_set_sg_num_sge(&receive, 1);
	doca_dpa_dev_verbs_qp_post_recv_wr(right, &receive);
	doca_dpa_dev_verbs_qp_commit_recv(right);
	doca_dpa_dev_verbs_send_wr_set_sg_list(&send, &at);
	doca_dpa_dev_verbs_send_wr_set_sg_num_sge(&send, 1);
	doca_dpa_dev_verbs_send_wr_set_send_flags(&send, DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED);
	doca_dpa_dev_verbs_send_wr_set_fence_mode(&send, DOCA_DPA_DEV_VERBS_SEND_WR_FM_NO_FENCE);
	doca_dpa_dev_verbs_send_wr_set_rdma_rkey(&send, key);
	doca_dpa_dev_verbs_send_wr_set_rdma_remote_addr(&send, buffer + 16);
	for (int turn = 0; turn < 3; turn++) {
		/* The last one reads what the one before has written. */
		at.addr = buffer + (turn < 2 ? 0 : 24);
		doca_dpa_dev_verbs_send_wr_set_opcode(&send, opcodes[turn]);
		doca_dpa_dev_verbs_qp_post_send_wr(left, &send);
	}
	doca_dpa_dev_verbs_qp_commit_send(left);
	for (int turn = 0; turn < 4; turn++) {
		while (!doca_dpa_dev_get_completion(completions, &element))
			;
		types = 10 * types + doca_dpa_dev_get_completion_type(element) + 1;
		doca_dpa_dev_completion_ack(completions, 1);
	}
	return types;
}

__dpa_rpc__ uint64_t hears(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	volatile uint64_t *own = (volatile uint64_t *)work->other_buffer;

	take(work, own, PROGRAMS - 1);
	__dpa_thread_memory_writeback();
	return own[HEARD_SUM];
}

/* The type of the next completion. */
__dpa_rpc__ uint64_t completes(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	doca_dpa_dev_completion_element_t element;

	while (!doca_dpa_dev_get_completion(work->other_completion, &element))
		;
	return doca_dpa_dev_get_completion_type(element);
}

/* Two threads answer each other. */
__dpa_global__ void ping_pong(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	doca_dpa_dev_completion_element_t element;
	uint64_t *left = (uint64_t *)doca_dpa_dev_thread_get_local_storage();

	while (*left > 0) {
		if (!doca_dpa_dev_get_completion(work->completion, &element))
			continue;
		--*left;
		doca_dpa_dev_rdma_post_receive(work->rdma, work->key, work->buffer, 8);
		doca_dpa_dev_rdma_post_send(work->rdma, 0, work->key, work->buffer, 8, FLUSH | QUIET);
		doca_dpa_dev_completion_ack(work->completion, 1);
	}
	doca_dpa_dev_sync_event_update_add(work->event, 1);
	doca_dpa_dev_thread_finish();
}

__dpa_rpc__ uint64_t begin_ping_pong(struct work ping, struct work pong)
{
	doca_dpa_dev_rdma_post_receive(ping.rdma, ping.key, ping.buffer, 8);
	doca_dpa_dev_rdma_post_receive(pong.rdma, pong.key, pong.buffer, 8);
	doca_dpa_dev_rdma_post_send(ping.rdma, 0, ping.key, ping.buffer, 8, FLUSH | QUIET);
	return ping.count + pong.count;
}

/* Memory of the host, from here. */
__dpa_rpc__ uint64_t external(uint64_t argument)
{
	struct work *work = (struct work *)argument;
	uint64_t *host = (uint64_t *)doca_dpa_dev_mmap_get_external_ptr(work->host_key,
									work->host_memory);
	uint64_t found = host[0];

	host[1] = found + 1;
	__dpa_thread_window_writeback();
	return found;
}

__dpa_rpc__ uint64_t unaligned(uint64_t argument)
{
	struct work *work = (struct work *)argument;

	return doca_dpa_dev_mmap_get_external_ptr(work->host_key, work->host_memory + 8) != 0; /* ERROR unaligned */
}

__dpa_rpc__ uint64_t of_the_sf(uint64_t argument)
{
	struct work *work = (struct work *)argument;

	return doca_dpa_dev_mmap_get_external_ptr(work->sf_key, work->host_memory) != 0; /* ERROR of_the_sf */
}

__dpa_rpc__ uint64_t no_connection(uint64_t argument)
{
	struct work *work = (struct work *)argument;

	doca_dpa_dev_rdma_post_send(work->other_rdma, 9, work->other_key, work->other_buffer, 8, FLUSH); /* ERROR no_connection */
	return 0;
}

__dpa_rpc__ uint64_t reads_first(uint64_t argument)
{
	return *(volatile uint64_t *)argument == 1; /* ERROR reads_first */
}

__dpa_rpc__ uint64_t reschedules(void)
{
	doca_dpa_dev_thread_reschedule(); /* ERROR reschedules */
	return 3;
}

__dpa_rpc__ uint64_t old_event(uint64_t event)
{
	doca_dpa_dev_sync_event_update_set(event, 1); /* ERROR old_event */
	return 4;
}

/* Frames of two parts go out; those that come are counted with their stamps. */
__dpa_rpc__ uint64_t frames(uint64_t sq, uint64_t rq, uint64_t completions, uint64_t buffer, uint32_t key)
{
	struct doca_dpa_dev_verbs_sge parts[2];
	struct doca_dpa_dev_verbs_recv_wr receive;
	struct doca_dpa_dev_verbs_send_wr send;
	doca_dpa_dev_completion_element_t element;
	uint64_t sum = 0, last = 0, rising = 0;

	doca_dpa_dev_verbs_recv_wr_set_sg_list(&receive, parts);
	doca_dpa_dev_verbs_recv_wr_set_sg_num_sge(&receive, 1);
	for (int at = 0; at < FRAMES; at++) {
		parts[0].addr = buffer + 128 * (FRAMES + at);
		parts[0].length = 128;
		parts[0].lkey = key;
		doca_dpa_dev_verbs_eth_rq_post_recv_wr(rq, &receive);
	}
	doca_dpa_dev_verbs_eth_rq_commit_recv(rq);
	doca_dpa_dev_verbs_send_wr_set_sg_list(&send, parts);
	doca_dpa_dev_verbs_send_wr_set_sg_num_sge(&send, 2);
	doca_dpa_dev_verbs_send_wr_set_opcode(&send, DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_SEND);
	doca_dpa_dev_verbs_send_wr_set_send_flags(&send, DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED);
	doca_dpa_dev_verbs_send_wr_set_fence_mode(&send, DOCA_DPA_DEV_VERBS_SEND_WR_FM_NO_FENCE);
	for (int at = 0; at < FRAMES; at++) {
		parts[0] = (struct doca_dpa_dev_verbs_sge){ buffer + 128 * at, 14, key };
		parts[1] = (struct doca_dpa_dev_verbs_sge){ buffer + 128 * at + 20, 46 + at, key };
		doca_dpa_dev_verbs_eth_sq_post_send_wr(sq, &send);
	}
	doca_dpa_dev_verbs_eth_sq_commit_send(sq);
	for (int at = 0; at < 2 * FRAMES; at++) {
		while (!doca_dpa_dev_get_completion(completions, &element))
			;
		uint64_t stamp = doca_dpa_dev_completion_element_get_timestamp(element);

		if (doca_dpa_dev_get_completion_type(element) == DOCA_DPA_DEV_COMP_RECV_SEND) {
			sum += doca_dpa_dev_completion_element_get_received_bytes(element);
			sum += 1000 * doca_dpa_dev_completion_element_get_wqe_counter(element);
		}
		rising += stamp > last;
		last = stamp;
		doca_dpa_dev_completion_ack(completions, 1);
	}
	return sum * 100 + rising;
}
