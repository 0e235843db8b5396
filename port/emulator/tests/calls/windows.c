/* Windows of a process to the memory of the host. */
static void window_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct flexio_process *process, *second;
	struct flexio_window *mine, *theirs;
	uint64_t mine_id, theirs_id, steps, steps2, block;
	uint8_t *memory;
	struct ibv_mr *region;

	/* Windows: of a process, for a key, at a place that the key covers. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	IS(flexio_process_create(context, calls, NULL, &second), 0);
	IS(flexio_window_create(process, domain, &mine), 0);
	IS(flexio_window_create(second, domain, &theirs), 0);
	mine_id = flexio_window_get_id(mine);
	theirs_id = flexio_window_get_id(theirs);
	memory = aligned_alloc(64, 256);
	memset(memory, 0x2e, 256);
	POKE(memory + 64, 0x41424344, 4, 0x45464748, 4);
	region = ibv_reg_mr(domain, memory + 64, 20, 1);
	BYTES((uint8_t *)region + 36, "25100000");
	IS(flexio_buf_dev_alloc(process, 2048, &steps), 0);
	WORDS(steps, 4, 0, mine_id, 0x1025, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 4, 2, mine_id, 0x1025, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 1 (steps), activation 1: window entity 2 does not exist");
	WORDS(steps, 4, 1, theirs_id, 0x1025, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 2 (steps), activation 1: window 2 is none of the process");
	WORDS(steps, 4, 1, mine_id + 2, 0x1025, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 3 (steps), activation 1: window 3 is none of the process");
	WORDS(steps, 4, 1, mine_id, 0x1026, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 4 (steps), activation 1: key 0x1026 of a window does not "
			"exist");
	WORDS(steps, 5, 1, (uint64_t)memory, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 5 (steps), activation 1: window 1 has no key yet");
	WORDS(steps, 5, 2, (uint64_t)memory, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 6 (steps), activation 1: window 2 has no key yet");
	WORDS(steps, 4, 1, mine_id, 0x1025, 5, 1, (uint64_t)(memory + 64), 0, 1,
		(uint64_t)(memory + 64), 1, 0, 9, 1, (uint64_t)(memory + 64), 5, 0);
	IS(CALL(process, steps, steps), 0);
	BYTES(memory + 60, "2e2e2e2e 09000000 00464748");
	WORDS(steps, 4, 0, mine_id, 0x1025, 9, 0, (uint64_t)(memory + 83), 1, 0);
	IS(CALL(process, steps, steps), 0);
	BYTES(memory + 80, "2e2e2e09 2e2e2e2e");
	WORDS(steps, 4, 0, mine_id, 0x1025, 9, 0, (uint64_t)(memory + 83), 2, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 9 (steps), activation 1: window 0: key 0x1025 covers 20 "
			"bytes at ... not 2 at ...");
	WORDS(steps, 4, 0, mine_id, 0x1025, 9, 0, (uint64_t)(memory + 63), 1, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 10 (steps), activation 1: window 0: key 0x1025 covers 20 "
			"bytes at ... not 1 at ...");
	WORDS(steps, 4, 0, mine_id, 0x1025, 9, 0, (uint64_t)(memory + 84), 1, 0);
	SAYS(CALL(process, steps, steps), 1,
		"dpa: process 1, thread 11 (steps), activation 1: window 0: key 0x1025 covers 20 "
			"bytes at ... not 1 at ...");
	WORDS(steps, 4, 0, mine_id, 0x1025, 9, 0, (uint64_t)(memory + 84), 0, 0);
	IS(CALL(process, steps, steps), 0);
	IS(flexio_buf_dev_alloc(second, 256, &steps2), 0);
	WORDS(steps2, 4, 0, theirs_id, 0x1025, 9, 0, (uint64_t)(memory + 66), 1, 0);
	IS(CALL(second, steps, steps2), 0);
	WORDS(steps2, 4, 0, mine_id, 0x1025, 0);
	SAYS(CALL(second, steps, steps2), 1,
		"dpa: process 2, thread 14 (steps), activation 1: window 1 is none of the process");
	BYTES(memory + 64, "09000900");
	IS(ibv_dereg_mr(region), 0);
	WORDS(steps2, 4, 0, theirs_id, 0x1025, 0);
	SAYS(CALL(second, steps, steps2), 1,
		"dpa: process 2, thread 15 (steps), activation 1: key 0x1025 of a window does not "
			"exist");
	region = ibv_reg_mr(domain, memory + 64, 20, 1);
	BYTES((uint8_t *)region + 36, "4a110000");
	WORDS(steps2, 4, 0, theirs_id, 0x114a, 9, 0, (uint64_t)(memory + 67), 1, 0);
	IS(CALL(second, steps, steps2), 0);
	BYTES(memory + 64, "09000909");

	/* What a thread reads again, and what the host has written meanwhile: in another line, in
	 * the same one, in what was read, before a read_inv, before the thread's own write. */
	IS(flexio_buf_dev_alloc(process, 200, &block), 0);
	region = ibv_reg_mr(domain, memory + 8, 240, 1);
	BYTES((uint8_t *)region + 36, "6f120000");
	memset(memory, 0x61, 256);
	WORDS(steps, 4, 0, mine_id, 0x126f, 5, 0, (uint64_t)(memory + 8), 0, 8, block,
		(uint64_t)(memory + 60), 8);
	WORDS(steps + 96, 6, (uint64_t)(memory + 58), 0, 0, 8, block, (uint64_t)(memory + 60), 8,
		0);
	CALL(process, steps, steps);
	WORDS(steps + 96, 6, (uint64_t)(memory + 68), 0, 0, 8, block, (uint64_t)(memory + 60), 8,
		0);
	CALL(process, steps, steps);
	WORDS(steps + 96, 6, (uint64_t)(memory + 59), 0, 0, 8, block, (uint64_t)(memory + 60), 8,
		0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 19 (steps), activation 1: reads 8 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv");
	WORDS(steps + 96, 6, (uint64_t)(memory + 67), 0, 0, 8, block, (uint64_t)(memory + 60), 8,
		0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 20 (steps), activation 1: reads 8 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv");
	memset(memory, 0x61, 256);
	WORDS(steps + 96, 6, (uint64_t)(memory + 65), 0, 0, 8, block, (uint64_t)(memory + 60), 8,
		0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 21 (steps), activation 1: reads 8 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv");
	memset(memory, 0x61, 256);
	WORDS(steps + 128, 3, 4, 1, 1, 8, block, (uint64_t)(memory + 60), 8, 0);
	CALL(process, steps, steps);
	memset(memory, 0x61, 256);
	WORDS(steps + 128, 3, 4, 1, 2, 8, block, (uint64_t)(memory + 60), 8, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 23 (steps), activation 1: reads 8 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv");
	memset(memory, 0x61, 256);
	WORDS(steps + 128, 3, 3, 1, 1, 8, block, (uint64_t)(memory + 60), 8, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 24 (steps), activation 1: reads 8 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv");
	memset(memory, 0x61, 256);
	WORDS(steps + 128, 2, (uint64_t)(memory + 64), 1, 1, 8, block, (uint64_t)(memory + 60), 8,
		3, 4, 2, 2, 0);
	CALL(process, steps, steps);
	memset(memory, 0x61, 256);
	WORDS(steps + 96, 6, (uint64_t)(memory + 246), 0, 0, 8, block, (uint64_t)(memory + 8), 120,
		8, block, (uint64_t)(memory + 128), 120, 6, (uint64_t)(memory + 8), 0, 0, 8, block,
		(uint64_t)(memory + 8), 240, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 26 (steps), activation 1: reads 240 bytes at ... of the host, "
			"which have changed since the thread has read their line, without a window "
			"read_inv\ndpa: process 1, thread 26 (steps), activation 1: writes 240 "
			"bytes at 0x200000000880, in no block of the heap: at byte 0 of one of 200 "
			"bytes");

	/* What is outside, not acquired, before, and long ago. */
	WORDS(steps, 4, 0, mine_id, 0x126f, 1, (uint64_t)(memory + 8), 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161616161610021,
		"dpa: process 1, thread 27 (steps), activation 1: reads 8 bytes at ... of the "
			"host, for which no window pointer was acquired");
	WORDS(steps + 32, 5, 0, (uint64_t)(memory + 8), 0, 1, (uint64_t)(memory + 240), 8, 0, 0);
	IS(CALL(process, steps, steps), 0x21616161616161);
	WORDS(steps + 64, 1, (uint64_t)(memory + 247), 1, 0, 1, (uint64_t)(memory + 7), 1, 0, 0);
	SAYS(CALL(process, steps, steps), 97,
		"dpa: process 1, thread 29 (steps), activation 1: reads 1 bytes at ... of the "
			"host, outside of its windows");
	WORDS(steps + 64, 1, (uint64_t)(memory + 248), 1, 0, 0);
	SAYS(CALL(process, steps, steps), 97,
		"dpa: process 1, thread 30 (steps), activation 1: reads 1 bytes at ... of the "
			"host, outside of its windows");
	WORDS(steps + 64, 4, 1, mine_id, 0x114a, 1, (uint64_t)(memory + 72), 8, 0, 0);
	IS(CALL(process, steps, steps), 0x6161616161616161);
	WORDS(steps + 64, 4, 0, mine_id, 0x114a, 1, (uint64_t)(memory + 128), 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161616161616161,
		"dpa: process 1, thread 32 (steps), activation 1: reads 8 bytes at ... through a "
			"window that was configured anew");
	ibv_reg_mr(domain, memory, 8, 1);
	ibv_reg_mr(domain, memory, 16, 1);
	ibv_reg_mr(domain, memory, 24, 1);
	region = ibv_reg_mr(domain, memory, 32, 1);
	BYTES((uint8_t *)region + 36, "03160000");
	WORDS(steps + 96, 4, 0, mine_id, 0x1394, 4, 0, mine_id, 0x14b9, 4, 0, mine_id, 0x15de, 1,
		(uint64_t)(memory + 128), 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161616161616161,
		"dpa: process 1, thread 33 (steps), activation 1: reads 8 bytes at ... through a "
			"window that was configured anew");
	WORDS(steps + 192, 4, 0, mine_id, 0x1603, 1, (uint64_t)(memory + 128), 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161616161616161,
		"dpa: process 1, thread 34 (steps), activation 1: reads 8 bytes at ... through a "
			"window that was configured anew");

	/* What was written and not written back at the end. */
	WORDS(steps, 4, 0, mine_id, 0x126f, 5, 0, (uint64_t)(memory + 8), 0, 2,
		(uint64_t)(memory + 16), 2, 2, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 35 (steps), activation 1: the activation ends without a "
			"window writeback after host memory at ... was written");
	WORDS(steps + 96, 3, 4, 2, 2, 0);
	CALL(process, steps, steps);
	WORDS(steps + 96, 3, 3, 2, 2, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 37 (steps), activation 1: the activation ends without a "
			"window writeback after host memory at ... was written");
	WORDS(steps + 96, 3, 4, 1, 2, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 38 (steps), activation 1: the activation ends without a "
			"window writeback after host memory at ... was written");
	SAID("");
}
