/* The program's name is that of its folder. */
#define BUFFER 20000
#define counter longframes
