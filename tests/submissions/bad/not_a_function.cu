// kind: compile
// expect: compile-error
// says: not one plain function
extern "C" int solve = 3;
