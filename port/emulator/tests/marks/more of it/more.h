#define MORE 7
