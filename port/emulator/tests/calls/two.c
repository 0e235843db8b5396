/* Two of each object in each of two processes, unlike. One is destroyed, and the others go on. */

/* A completion queue of this depth, with its ring and its record in one block. */
static uint64_t ringed(struct flexio_process *process, int log_depth, struct flexio_thread *thread,
		       struct flexio_cq **cq, uint64_t *number)
{
	uint64_t ring = filled(process, (64UL << log_depth) + 8, 0xff);

	IS(flexio_buf_dev_memset(process, 0, 8, ring + (64UL << log_depth)), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = log_depth,
		.element_type = thread ? 0 : 8, .thread = thread, .always_armed = !!thread,
		.cq_ring_qmem.daddr = ring, .cq_dbr_daddr = ring + (64UL << log_depth) }, cq), 0);
	*number = flexio_cq_get_cq_num(*cq);
	return ring;
}

/* The entries of a ring that the NIC has written, at most four. */
static uint64_t written(uint64_t ring, int entries)
{
	uint64_t count = 0;

	for (int at = 0; at < entries; at++)
		count += __atomic_load_n(AT(ring) + 64 * at + 63, __ATOMIC_ACQUIRE) != 0xff;
	return count;
}

static void two_calls(void)
{
	static uint8_t memory[2][64] __attribute__((aligned(64)));
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(*list), *again = ibv_open_device(*list);
	struct ibv_pd *domain = ibv_alloc_pd(context);
	struct flexio_process *process[2];
	struct flexio_cq *cq[2][2];
	struct flexio_event_handler *handler[2][2];
	struct flexio_cq *waking[2][2];
	struct flexio_msg_stream *stream[2][2];
	struct flexio_cmdq *tasks[2];
	struct flexio_window *window[2][2];
	struct flexio_mkey *key[2];
	struct ibv_mr *region[2];
	flexio_func_t *handle, *task;
	uint64_t block[2][2], ring[2][2], number[2][2], state[2][2], wakes[2][2], begun[2][2] = { 0 };
	uint64_t windows[2][2], keys[2], steps[2];

	IS(flexio_func_register(calls, "handle", &handle), 0);
	IS(flexio_func_register(calls, "task", &task), 0);
	for (int p = 0; p < 2; p++) {
		IS(flexio_process_create(p ? again : context, calls, NULL, &process[p]), 0);
		steps[p] = filled(process[p], 512, 0);
		for (int k = 0; k < 2; k++) {
			block[p][k] = filled(process[p], 8 + 8 * k, 0x10 * p + k + 1);
			ring[p][k] = ringed(process[p], k + 1, NULL, &cq[p][k], &number[p][k]);
			state[p][k] = filled(process[p], 48, 0);
			IS(flexio_event_handler_create(process[p],
				&(struct flexio_event_handler_attr){ .host_stub_func = handle,
				.thread_local_storage_daddr = 100 + 10 * p + k }, &handler[p][k]), 0);
			ringed(process[p], 3, flexio_event_handler_get_thread(handler[p][k]),
			       &waking[p][k], &wakes[p][k]);
			IS(flexio_event_handler_run(handler[p][k], state[p][k]), 0);
			IS(flexio_msg_stream_create(process[p], &(struct flexio_msg_stream_attr){
				.data_bsize = 2048, .sync_mode = k, .level = 2 + 2 * k }, stdout,
				NULL, &stream[p][k]), 0);
			IS(flexio_msg_stream_get_id(stream[p][k]), k);
			IS(flexio_window_create(process[p], domain, &window[p][k]), 0);
			windows[p][k] = flexio_window_get_id(window[p][k]);
		}
		IS(flexio_device_mkey_create(process[p], &(struct flexio_mkey_attr){
			.daddr = block[p][1], .len = 16, .pd = domain }, &key[p]), 0);
	}
	for (int k = 0; k < 2; k++) {
		memset(memory[k], 0x30 + k, 64);
		region[k] = ibv_reg_mr(domain, memory[k], 32 + k, 1);
		keys[k] = region[k]->lkey;
		IS(flexio_cmdq_create(process[k], &(struct flexio_cmdq_attr){ .workers = 1 + k,
			.batch_size = 1, .state = 1 }, &tasks[k]), 0);
	}
	IS(flexio_mkey_get_id(key[0]) != flexio_mkey_get_id(key[1]), 1);

	/* Blocks. Equal addresses do not occur: a process does not reach the other's heap. */
	for (int p = 0; p < 2; p++)
		for (int k = 0; k < 2; k++)
			IS(CALL(process[p], load, block[p][k]),
			   0x0101010101010101 * (uint64_t)(0x10 * p + k + 1));
	SAYS(CALL(process[1], load, block[0][1]), 0x0202020202020202,
		"dpa: process 2, thread 11 (load), activation 1: reads 8 bytes at 0x200000000700 of another "
			"process's heap");
	IS(flexio_buf_dev_free(process[0], block[0][0]), 0);
	SAYS(flexio_buf_dev_free(process[1], block[0][1]), 1,
		"dpa: flexio_buf_dev_free: 0x200000000700 is not the address of a block");
	IS(flexio_host2dev_memcpy(process[1], "12345678", 8, block[1][0]), 0);
	IS(CALL(process[0], load, block[0][1]), 0x0202020202020202);
	IS(CALL(process[1], load, block[1][0]), 0x3837363534333231);
	IS(CALL(process[1], load, block[1][1] + 8), 0x1212121212121212);

	/* Completion queues: each has its own ring, depth and count. */
	for (int p = 0; p < 2; p++)
		for (int k = 0; k < 2; k++) {
			for (int turn = 0; turn <= p + 2 * k && turn < (2 << k); turn++)
				IS(CALL(process[p], zero, number[p][k]), 0);
			IS(written(ring[p][k], 2 << k), 1 + p + 2 * k < (2 << k) ? 1 + p + 2 * k : 2 << k);
		}
	IS(written(ring[0][0], 2), 1);
	IS(flexio_cq_destroy(cq[0][0]), 0);
	SAYS(CALL(process[0], zero, number[0][0]), 0,
		"dpa: process 1, thread 25 (zero), activation 1: no completion queue 0x400 to wake");
	IS(CALL(process[0], zero, number[0][1]), 0);
	IS(written(ring[0][1], 4), 4);
	IS(written(ring[0][0], 2), 1);
	IS(written(ring[1][0], 2), 2);

	/* Handlers: an event wakes its own, which has its own argument and storage. */
	for (int turn = 0; turn < 3; turn++)
		for (int p = 0; p < 2; p++)
			for (int k = 0; k < 2; k++) {
				if (turn < p + k)
					continue;
				IS(CALL(process[p], zero, wakes[p][k]), 0);
				UNTIL(WORD(state[p][k]), begun[p][k] + 1);
				begun[p][k]++;
				for (int q = 0; q < 4; q++)
					IS(WORD(state[q / 2][q % 2]), begun[q / 2][q % 2]);
				IS(WORD(state[p][k] + 24), 100 + 10 * p + k);
				IS(WORD(state[p][k] + 32), flexio_event_handler_get_id(handler[p][k]));
			}
	IS(flexio_cq_destroy(waking[0][1]), 0);
	IS(flexio_event_handler_destroy(handler[0][1]), 0);
	for (int q = 0; q < 4; q++)
		if (q != 1) {
			IS(CALL(process[q / 2], zero, wakes[q / 2][q % 2]), 0);
			UNTIL(WORD(state[q / 2][q % 2]), begun[q / 2][q % 2] + 1);
		}
	IS(WORD(state[0][1]), begun[0][1]);

	/* Streams: of equal numbers in both processes, each with its own level and mode. */
	SAYS(CALL(process[0], say, 0, 1, 201), 9, "201 to 0");
	SAYS(CALL(process[1], say, 0, 1, 202), 9, "202 to 0");
	IS(CALL(process[1], say, 0, 3, 203), 9);
	IS(CALL(process[0], say, 1, 4, 204), 9);
	IS(CALL(process[1], say, 1, 4, 205), 9);
	SAYS(flexio_msg_stream_flush(stream[1][1]), 0, "205 to 1");
	IS(flexio_msg_stream_level_set(stream[0][1], 2), 0);
	IS(CALL(process[0], say, 1, 4, 206), 9);
	IS(CALL(process[1], say, 1, 4, 207), 9);
	SAYS(flexio_msg_stream_flush(stream[0][1]), 0, "204 to 1");
	IS(flexio_msg_stream_destroy(stream[0][0]), 0);
	IS(CALL(process[0], say, 0, 1, 208), 9);
	SAYS(CALL(process[1], say, 0, 1, 209), 9, "209 to 0");
	SAYS(flexio_msg_stream_flush(stream[1][1]), 0, "207 to 1");

	/* Command queues. */
	IS(flexio_cmdq_task_add(tasks[0], task, 301), 0);
	UNTIL(flexio_cmdq_is_empty(tasks[0]), 1);
	SAID("");
	EQ(flexio_cmdq_task_add(tasks[1], task, 302), 0);
	UNTIL(flexio_cmdq_is_empty(tasks[1]), 1);
	SAID_LATER("task 302");
	IS(flexio_cmdq_destroy(tasks[0]), 0);
	EQ(flexio_cmdq_task_add(tasks[1], task, 303), 0);
	UNTIL(flexio_cmdq_is_empty(tasks[1]), 1);
	SAID_LATER("task 303");

	/* Windows: both entities of a thread at a time, for unlike keys and windows. */
	for (int p = 0; p < 2; p++) {
		POKE(steps[p] + 504, 0x51 + p, 8);
		WORDS(steps[p], 4, 0, windows[p][0], keys[0], 4, 1, windows[p][1], keys[1], 9, 0,
			(uint64_t)memory[0] + p, 1, 9, 1, (uint64_t)memory[1] + 4 + p, 1, 0);
		IS(CALL(process[p], steps, steps[p]), 0);
	}
	BYTES(memory[0], "09093030 30303030");
	BYTES(memory[1], "31313131 09093131");
	IS(flexio_window_destroy(window[0][0]), 0);
	WORDS(steps[0], 4, 1, windows[0][1], keys[1], 9, 1, (uint64_t)memory[1] + 32, 1, 0);
	IS(CALL(process[0], steps, steps[0]), 0);
	WORDS(steps[1], 4, 0, windows[1][0], keys[0], 9, 0, (uint64_t)memory[0] + 31, 1, 0);
	IS(CALL(process[1], steps, steps[1]), 0);
	BYTES(memory[0] + 28, "30303009 30303030");
	BYTES(memory[1] + 28, "31313131 09313131");
	IS(ibv_dereg_mr(region[0]), 0);
	WORDS(steps[1], 4, 1, windows[1][1], keys[1], 9, 1, (uint64_t)memory[1], 1, 0);
	IS(CALL(process[1], steps, steps[1]), 0);
	BYTES(memory[1], "09313131 09093131");

	/* The second process has all that is its own when the first is gone. */
	IS(flexio_device_mkey_destroy(key[0]), 0);
	IS(flexio_process_destroy(process[0]), 0);
	IS(ibv_close_device(context), 0);
	IS(CALL(process[1], load, block[1][1]), 0x1212121212121212);
	IS(CALL(process[1], zero, wakes[1][0]), 0);
	UNTIL(WORD(state[1][0]), begun[1][0] + 2);
	IS(WORD(state[1][1]), begun[1][1] + 1);
	SAYS(CALL(process[1], say, 0, 1, 210), 9, "210 to 0");
	EQ(flexio_cmdq_task_add(tasks[1], task, 304), 0);
	UNTIL(flexio_cmdq_is_empty(tasks[1]), 1);
	SAID_LATER("task 304");
	IS(CALL(process[1], steps, steps[1]), 0);
	IS(flexio_mkey_get_id(key[1]) > 0, 1);
	IS(flexio_err_status_get(process[1]), 0);
	IS(CALL(process[1], digits, 1), 0x10000000000);
	IS(flexio_process_destroy(process[1]), 0);
	SAID("");
}
