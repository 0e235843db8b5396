/* Versions, devices, programs, processes, heap, keys, messages. */
static void process_calls(void)
{
	int count, event;
	struct ibv_device **list;
	const char *name;
	struct ibv_context *context;
	struct flexio_app *other, *cut, *found;
	size_t size;
	uint8_t *elf, *name_bytes, *info;
	struct flexio_process *process, *second, *third, *fourth, *fifth, *sixth;
	struct flexio_app_attr app_attr;
	struct flexio_app_select_attr by_name;
	flexio_func_t *mine, *yours, *nothing, *words;
	struct ibv_pd *domain;
	struct flexio_uar *uar, *extended;
	struct flexio_outbox *outbox;
	uint64_t result, a, b, c, d, e, f;
	struct flexio_mkey *key, *key2;
	struct flexio_mkey_attr mkey_attr;
	struct flexio_window *window;
	struct ibv_mr *region;
	struct flexio_msg_stream *stream, *batch, *stream3;
	struct flexio_msg_stream_attr msg_stream_attr;
	pthread_t thread;

	/* Versions and devices. */
	SAYS(flexio_version_set(0x1500000000), 1,
		"dpa: flexio_version_set: version 0x1500000000 is not of the years 22 to 26");
	IS(flexio_version_set(0x1600000000), 0);
	IS(flexio_version_set(0x1a0000ffff), 0);
	SAYS(flexio_version_set(0x1b00000000), 1,
		"dpa: flexio_version_set: version 0x1b00000000 is not of the years 22 to 26");
	list = ibv_get_device_list(&count);
	ibv_free_device_list(list);
	list = ibv_get_device_list(NULL);
	IS(count, 1);
	IS(list[1], 0);
	name = ibv_get_device_name(*list);
	TEXT(name, "a_card_of_a_long_name_that_has_more_letters_than_a_place_of_six");
	SAYS(ibv_open_device((void *)list), 0, "dpa: ibv_open_device: an unknown device");
	context = ibv_open_device(*list);

	/* Programs: bytes, names, functions. */
	SAYS(flexio_app_create(&(struct flexio_app_attr){ .app_ptr = calls, .app_bsize = 9 },
		&other), 1, "dpa: flexio_app_create: no name");
	SAYS(flexio_app_create(&(struct flexio_app_attr){ .app_name = "other", .app_bsize = 64 },
		&other), 1, "dpa: flexio_app_create: no device part");
	size = flexio_app_get_elf_size(calls);
	elf = calloc(1, size);
	SAYS(flexio_app_get_elf(NULL, (void *)elf, size), 1,
		"dpa: flexio_app_get_elf: App: a null pointer");
	IS(flexio_app_get_elf(calls, (void *)elf, size), 0);
	SAYS(flexio_app_create(&(struct flexio_app_attr){ .app_name = "other",
		.app_ptr = (void *)elf, .app_bsize = 63 }, &other), 1,
		"dpa: flexio_app_create: the device part is no ELF file");
	IS(flexio_app_create(&(struct flexio_app_attr){ .app_name = "short", .app_ptr = (void *)elf,
		.app_bsize = 64 }, &cut), 0);
	SAYS(flexio_process_create(context, cut, NULL, &process), 1,
		"dpa: flexio_process_create: the device part cannot be loaded: ... cannot read "
			"file data");
	POKE(elf, 0x7e, 1);
	app_attr = (struct flexio_app_attr){ .app_name = "other", .app_ptr = (void *)elf,
		.app_bsize = size };
	SAYS(flexio_app_create(&app_attr, &other), 1,
		"dpa: flexio_app_create: the device part is no ELF file");
	POKE(elf, 0x7f, 1);
	POKE(elf + 16, 2, 1);
	SAYS(flexio_app_create(&app_attr, &other), 1,
		"dpa: flexio_app_create: the device part is no shared object of this machine");
	POKE(elf + 16, 3, 1);
	POKE(elf + 18, 0xf3, 1);
	SAYS(flexio_app_create(&app_attr, &other), 1,
		"dpa: flexio_app_create: the device part is RISC-V code; compile it with the "
			"emulator's dpacc");
	POKE(elf + 18, 0, 1);
	SAYS(flexio_app_create(&app_attr, &other), 1,
		"dpa: flexio_app_create: the device part is no shared object of this machine");
	IS(flexio_app_get_elf(calls, (void *)elf, size), 0);
	SAYS(flexio_app_create(&app_attr, NULL), 1,
		"dpa: flexio_app_create: no place for the result");
	IS(flexio_app_create(&app_attr, &other), 0);
	name = flexio_app_get_name(other);
	TEXT(name, "other");
	name_bytes = calloc(1, 300);
	memset(name_bytes, 97, 256);
	by_name = (struct flexio_app_select_attr){ .app_name = (char *)name_bytes };
	SAYS(flexio_app_get(&by_name, &found), 1,
		"dpa: flexio_app_get: no program "
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	memset(name_bytes + 256, 97, 1);
	SAYS(flexio_app_get(&by_name, &found), 1,
		"dpa: flexio_app_get: a name of more than 256 bytes");
	IS(flexio_app_get(&(struct flexio_app_select_attr){ .app_name = "calls" }, &found), 0);
	IS(found, 0xd9a010000000001);
	SAYS(flexio_func_register(calls, NULL, &mine), 1, "dpa: flexio_func_register: no name");
	IS(flexio_func_register(calls, "digits", &mine), 0);
	IS(flexio_func_register(other, "digits", &yours), 0);
	IS(mine, 0xd9a0c0000000001);
	IS(yours, 0xd9a0c0000000002);

	/* Processes, each of its own program. */
	SAYS(flexio_process_create(NULL, calls, NULL, &process), 1,
		"dpa: flexio_process_create: no device context");
	SAYS(flexio_process_create(context, NULL, NULL, &process), 1,
		"dpa: flexio_process_create: App: a null pointer");
	SAYS(flexio_process_create(context, (void *)mine, NULL, &process), 1,
		"dpa: flexio_process_create: App: 0xd9a0c0000000001 is no such object");
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, other, &(struct flexio_process_attr){ .pd = domain },
		&second), 0);
	IS(process, 0xd9a020000000001);
	IS(second, 0xd9a020000000002);
	IS(flexio_process_get_dumem_id(second), 2);
	uar = flexio_process_get_uar(second);
	IS(flexio_uar_get_id(uar), 2);
	IS(flexio_uar_extend(uar, context, &extended), 0);
	IS(flexio_uar_get_extended_id(extended), 2);
	outbox = flexio_process_get_outbox(second);
	IS(flexio_outbox_get_id(outbox), 2);
	uar = flexio_outbox_get_uar(outbox);
	IS(flexio_uar_get_id(uar), 2);
	IS(flexio_uar_create(second, &uar), 0);
	IS(flexio_uar_get_id(uar), 2);
	IS(flexio_uar_destroy(uar), 0);
	IS(flexio_outbox_create(second, NULL, &outbox), 0);
	IS(flexio_outbox_get_id(outbox), 2);
	IS(flexio_outbox_destroy(outbox), 0);
	IS(flexio_process_udbg_token_get(process), 0);
	SAYS(flexio_coredump_create(process, NULL), 1,
		"dpa: flexio_coredump_create: core dumps are not emulated; a debugger sees the "
			"host's program");
	IS(flexio_process_call(process, mine, &result, 1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL, 8UL, 9UL,
		10UL, 11UL), 0);
	IS(result, 0x123456789ab);
	IS(flexio_process_call(second, yours, &result, 11UL, 10UL, 9UL, 8UL, 7UL, 6UL, 5UL, 4UL,
		3UL, 2UL, 1UL), 0);
	IS(result, 0xba987654321);
	SAYS(flexio_process_call(process, yours, &result), 1,
		"dpa: flexio_process_call: digits is a function of another program");
	SAYS(flexio_process_call(process, NULL, &result), 1,
		"dpa: flexio_process_call: no function");
	SAYS(flexio_process_call(process, (void *)4096, &result), 1,
		"dpa: flexio_process_call: 0x1000 is no stub of a device function");
	IS(flexio_func_pup_register(calls, "length", "pack", (void *)4096, 8, NULL), 0);
	IS(flexio_process_call(process, (void *)4096, &result, (uint64_t)name_bytes), 0);
	IS(result, 257);
	IS(flexio_func_register(calls, "nothing", &nothing), 0);
	SAYS(flexio_process_call(process, nothing, &result), 1,
		"dpa: flexio_process_call: the device part has no entry point nothing");

	/* The functions of a program end with it, and those of others do not. */
	IS(flexio_app_destroy(other), 0);
	SAYS(flexio_app_destroy(other), 1,
		"dpa: flexio_app_destroy: App: it does not exist any more");
	IS(flexio_app_destroy(NULL), 0);
	SAYS(flexio_process_call(second, yours, &result, 1UL), 1,
		"dpa: flexio_process_call: 0xd9a0c0000000002 is no stub of a device function");
	IS(flexio_process_call(process, mine, &result, 1UL, 0UL, 0UL, 0UL, 0UL, 0UL, 0UL, 0UL,
		0UL, 0UL, 0UL), 0);
	IS(result, 0x10000000000);

	/* The heap: blocks, places in them, and what is left. */
	info = calloc(1, 40);
	IS(flexio_process_mem_info_get(process, (void *)info), 0);
	IS(WORD(info), 0x200000000000);
	IS(WORD(info + 8), 0x100000);
	IS(WORD(info + 16), 0);
	SAYS(flexio_buf_dev_alloc(process, 0, &a), 1, "dpa: flexio_buf_dev_alloc: 0 bytes");
	SAYS(flexio_buf_dev_alloc(process, 0x10000000001, &a), 1,
		"dpa: flexio_buf_dev_alloc: 1099511627777 bytes");
	IS(flexio_buf_dev_alloc(process, 1, &a), 0);
	IS(flexio_buf_dev_alloc(process, 100, &b), 0);
	IS(flexio_buf_dev_alloc(process, 4095, &c), 0);
	IS(flexio_buf_dev_alloc(process, 4096, &d), 0);
	IS(flexio_copy_from_host(process, "0123456789", 10, &e), 0);
	SAYS(flexio_copy_from_host(process, NULL, 10, &e), 1,
		"dpa: flexio_copy_from_host: no source");
	IS(flexio_copy_from_host(process, "0123456789", 10, &e), 0);
	IS(a, 0x200000000040);
	IS(b, 0x2000000000c0);
	IS(c, 0x200000000180);
	IS(d, 0x200000002000);
	IS(e, 0x200000001240);
	IS(flexio_process_mem_info_get(process, (void *)info), 0);
	IS(WORD(info + 16), 8312);
	IS(WORD(info + 24), 8512);
	IS(WORD(info + 32), 0xfdec0);
	IS(flexio_buf_dev_memset(process, 0xab, 100, b), 0);
	IS(flexio_buf_dev_memset(process, 0xcd, 10, b + 90), 0);
	SAYS(flexio_buf_dev_memset(process, 0, 10, b + 91), 1,
		"dpa: flexio_buf_dev_memset: 0x20000000011b: 10 bytes are not in one block");
	SAYS(flexio_buf_dev_memset(process, 0, 0, b), 1, "dpa: flexio_buf_dev_memset: 0 bytes");
	BYTES(b + 84, "abababab ababcdcd cdcdcdcd cdcdcdcd 00000000");
	IS(flexio_host2dev_memcpy(process, "abcdef", 3, b + 97), 0);
	SAYS(flexio_host2dev_memcpy(process, "abcdef", 4, b + 97), 1,
		"dpa: flexio_host2dev_memcpy: 0x200000000121: 4 bytes are not in one block");
	SAYS(flexio_host2dev_memcpy(process, NULL, 4, b), 1,
		"dpa: flexio_host2dev_memcpy: no source");
	SAYS(flexio_host2dev_memcpy(process, "abcdef", 1, b + 100), 1,
		"dpa: flexio_host2dev_memcpy: 0x200000000124: 1 bytes are not in one block");
	SAYS(flexio_host2dev_memcpy(process, "abcdef", 1, 64), 1,
		"dpa: flexio_host2dev_memcpy: 0x40: 1 bytes are not in one block");
	BYTES(b + 84, "abababab ababcdcd cdcdcdcd cd616263 00000000");
	BYTES(e, "30313233 34353637 38390000");
	SAYS(flexio_buf_dev_free(process, b + 1), 1,
		"dpa: flexio_buf_dev_free: 0x2000000000c1 is not the address of a block");
	IS(flexio_buf_dev_free(process, b), 0);
	SAYS(flexio_buf_dev_free(process, b), 1,
		"dpa: flexio_buf_dev_free: 0x2000000000c0 is a block that was freed before");
	IS(flexio_buf_dev_free(process, 0), 0);
	IS(flexio_buf_dev_alloc(process, 65, &f), 0);
	IS(flexio_buf_dev_alloc(process, 36, &b), 0);
	IS(f, 0x2000000012c0);
	IS(b, 0x200000001380);
	IS(flexio_buf_dev_free(process, d), 0);
	SAYS(flexio_buf_dev_alloc(process, 0xfe000, &d), 1,
		"dpa: flexio_buf_dev_alloc: no room for 1040384 bytes in a heap of 1048576 "
			"(DPA_HEAP_MIB)");
	SAYS(flexio_buf_dev_alloc(process, 0xfdfc1, &d), 1,
		"dpa: flexio_buf_dev_alloc: no room for 1040321 bytes in a heap of 1048576 "
			"(DPA_HEAP_MIB)");
	IS(flexio_buf_dev_alloc(process, 0xfdfc0, &d), 0);
	IS(d, 0x200000002000);

	/* Keys, windows. */
	SAYS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .daddr = c, .len = 8 },
		&key), 1, "dpa: flexio_device_mkey_create: no protection domain");
	mkey_attr = (struct flexio_mkey_attr){ .daddr = c, .len = 8, .pd = domain };
	IS(flexio_device_mkey_create(process, &mkey_attr, &key), 0);
	IS(flexio_device_mkey_create(process, &mkey_attr, &key2), 0);
	IS(flexio_mkey_get_id(key), 4133);
	IS(flexio_mkey_get_id(key2), 4426);
	IS(flexio_device_mkey_destroy(key), 0);
	SAYS(flexio_mkey_destroy(key), 1,
		"dpa: flexio_mkey_destroy: Mkey: it does not exist any more");
	SAYS(flexio_mkey_get_id((void *)uar), 0,
		"dpa: flexio_mkey_get_id: Mkey: 0xd9a080000000002 is no such object");
	SAYS(flexio_mkey_get_id(NULL), 0, "dpa: flexio_mkey_get_id: Mkey: a null pointer");
	IS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .daddr = 0x200000000000,
		.len = 0x100000, .pd = domain }, &key), 0);
	SAYS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .daddr = 0x200000000001,
		.len = 0x100000, .pd = domain }, &key), 1,
		"dpa: flexio_device_mkey_create: 0x200000000001: 1048576 bytes are not in the "
			"heap");
	SAYS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .daddr = 0x1fffffffffff,
		.len = 2, .pd = domain }, &key), 1,
		"dpa: flexio_device_mkey_create: 0x1fffffffffff: 2 bytes are not in the heap");
	SAYS(flexio_device_mkey_create(process,
		&(struct flexio_mkey_attr){ .daddr = 0xfffffffffffffffe, .len = 4, .pd = domain },
		&key), 1,
		"dpa: flexio_device_mkey_create: 0xfffffffffffffffe: 4 bytes are not in the heap");
	SAYS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .daddr = c,
		.pd = domain }, &key), 1, "dpa: flexio_device_mkey_create: 0 bytes");
	SAYS(flexio_window_create(process, NULL, &window), 1,
		"dpa: flexio_window_create: no protection domain");
	IS(flexio_window_create(process, domain, &window), 0);
	IS(flexio_window_get_id(window), 1);
	IS(flexio_window_destroy(window), 0);
	SAYS(flexio_window_destroy(window), 1,
		"dpa: flexio_window_destroy: Window: it does not exist any more");
	SAYS(ibv_reg_mr(NULL, elf, 8, 1), 0, "dpa: ibv_reg_mr: 8 bytes at ...");
	SAYS(ibv_reg_mr(domain, NULL, 8, 1), 0, "dpa: ibv_reg_mr: 8 bytes at 0x0");
	SAYS(ibv_reg_mr(domain, elf, 0, 1), 0, "dpa: ibv_reg_mr: 0 bytes at ...");
	region = ibv_reg_mr(domain, elf, 8, 1);
	BYTES((uint8_t *)region + 36, "94130000 94130000");
	IS(ibv_dereg_mr(region), 0);
	IS(ibv_dereg_mr(NULL), 0);

	/* Messages by stream and level. */
	SAYS(flexio_msg_stream_create(process, &(struct flexio_msg_stream_attr){ .data_bsize = 2047,
		.level = 3 }, stdout, NULL, &stream), 1,
		"dpa: flexio_msg_stream_create: a buffer of 2047 bytes; at least 2048");
	msg_stream_attr = (struct flexio_msg_stream_attr){ .data_bsize = 2048, .level = 3 };
	SAYS(flexio_msg_stream_create(process, &msg_stream_attr, NULL, NULL, &stream), 1,
		"dpa: flexio_msg_stream_create: no file for the messages");
	IS(flexio_msg_stream_create(process, &msg_stream_attr, stdout, NULL, &stream), 0);
	IS(flexio_msg_stream_create(process, &(struct flexio_msg_stream_attr){ .data_bsize = 2048,
		.sync_mode = 2 }, stdout, &thread, &batch), 0);
	IS(flexio_msg_stream_get_id(stream), 0);
	IS(flexio_msg_stream_get_id(batch), 1);
	IS(CALL(process, say, 0, 0, 101), 9);
	SAYS(CALL(process, say, 0, 1, 102), 9, "102 to 0");
	SAYS(CALL(process, say, 0, 3, 103), 9, "103 to 0");
	IS(CALL(process, say, 0, 4, 104), 9);
	IS(CALL(process, say, 1, 4, 105), 9);
	IS(CALL(process, say, 1, 5, 106), 9);
	IS(CALL(process, say, 2, 1, 107), 9);
	SAYS(CALL(process, say, 255, 3, 108), 11, "108 to all");
	SAYS(flexio_msg_stream_flush(batch), 0, "105 to 1\n108 to all");
	IS(flexio_msg_stream_level_set(stream, 1), 0);
	IS(CALL(process, say, 255, 2, 109), 11);
	SAYS(flexio_msg_stream_destroy(batch), 0, "109 to all");
	SAYS(flexio_msg_stream_destroy(batch), 1,
		"dpa: flexio_msg_stream_destroy: Stream: it does not exist any more");
	SAYS(CALL(process, say, 255, 1, 110), 11, "110 to all");
	/* The number of a stream that is gone is used again when all have been. */
	for (int number = 2; number < 255; number++) {
		IS(flexio_msg_stream_create(process, &msg_stream_attr, stdout, NULL, &batch), 0);
		IS(flexio_msg_stream_get_id(batch), number);
	}
	IS(flexio_msg_stream_create(process, &msg_stream_attr, stdout, NULL, &batch), 0);
	IS(flexio_msg_stream_get_id(batch), 1);
	SAYS(flexio_msg_stream_create(process, &msg_stream_attr, stdout, NULL, &stream3), 1,
		"dpa: flexio_msg_stream_create: more than 255 streams");
	SAYS(CALL(process, say, 1, 3, 111), 9, "111 to 1");

	/* A process ends by itself, another by a crash, and one beside goes on. */
	IS(flexio_process_create(context, calls, NULL, &third), 0);
	IS(flexio_msg_stream_create(third, &(struct flexio_msg_stream_attr){ .data_bsize = 2048 },
		stdout, NULL, &stream3), 0);
	IS(flexio_func_register(calls, "last_words", &words), 0);
	IS(flexio_process_error_handler_set(third, words), 0);
	IS(flexio_err_status_get(third), 0);
	SAYS(CALL(third, end_process, 127), 0,
		"last words, code 127\ndpa: flexio_process_call: the process ended in or before "
			"end_process\nstatus 3");
	IS(flexio_err_status_get(third), 1);
	event = flexio_err_handler_fd(third);
	IS(read(event, &result, 8), 8);
	IS(result, 1);
	SAYS(CALL(third, digits, 1), 0,
		"dpa: flexio_process_call: the process has ended\nstatus 3");
	IS(flexio_process_create(context, calls, NULL, &fourth), 0);
	SAYS(CALL(fourth, end_process, 128), 0,
		"dpa: process 4: end_process ends it with code 128\ndpa: flexio_process_call: the "
			"process ended in or before end_process\nstatus 3");
	IS(flexio_err_status_get(fourth), 2);
	IS(flexio_process_create(context, calls, NULL, &fifth), 0);
	SAYS(CALL(fifth, end_process, 0x40), 0,
		"dpa: flexio_process_call: the process ended in or before end_process\nstatus 3");
	IS(flexio_err_status_get(fifth), 0);
	event = flexio_err_handler_fd(fifth);
	IS(read(event, &result, 8), 0xffffffffffffffff);
	IS(CALL(process, digits, 1), 0x10000000000);
	IS(flexio_process_destroy(third), 0);
	SAYS(flexio_process_destroy(third), 1,
		"dpa: flexio_process_destroy: Process: it does not exist any more");
	SAYS(flexio_msg_stream_flush(stream3), 1,
		"dpa: flexio_msg_stream_flush: Stream: it does not exist any more");
	SAYS(flexio_process_get_dumem_id(third), 0,
		"dpa: flexio_process_get_dumem_id: Process: it does not exist any more");
	IS(flexio_process_destroy(process), 0);
	IS(flexio_process_create(context, calls, NULL, &sixth), 0);
	IS(sixth, 0xd9a020000000006);
	IS(flexio_process_destroy(sixth), 0);
	IS(ibv_dealloc_pd(domain), 0);
	IS(ibv_close_device(context), 0);
	SAID("");
}
