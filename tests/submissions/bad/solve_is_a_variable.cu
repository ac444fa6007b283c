// expect: compile-error
// kind: compile
// says: solve is not one plain function: define extern "C" void solve
extern "C" {
int solve = 3;
}
