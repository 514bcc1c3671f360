// Does what a sanitizer reports, of the kind that its argument names; with none it ends well.
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <thread>

namespace {

int after_free(int seed) {
  int* volatile const value = new int(seed);  // read anew each time, or the compiler would see it
  delete value;
  return *value;
}

int overflow(int seed) {
  const volatile int most = std::numeric_limits<int>::max();
  return most + seed;
}

int leak(int seed) {
  static std::string* volatile only_pointer = nullptr;
  only_pointer = new std::string(1000, static_cast<char>('a' + seed));
  only_pointer = nullptr;
  return only_pointer == nullptr ? 0 : seed;
}

int race(int seed) {
  int shared = 0;
  std::thread other([&shared, seed] { shared = seed; });
  shared = 2 * seed;
  other.join();
  return shared;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "none";
  if (kind == "after_free") return after_free(argc);
  if (kind == "overflow") return overflow(argc);
  if (kind == "leak") return leak(argc);
  if (kind == "race") return race(argc);
  if (kind == "none") return 0;
  std::cerr << "defects: unknown kind " << kind << "\n";
  return EXIT_FAILURE;
}
