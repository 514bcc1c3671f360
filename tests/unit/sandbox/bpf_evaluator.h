// Runs a classic BPF program over a seccomp_data, as the kernel would. seccomp(2), bpf(4).
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

// The filter's return value; nothing for a program the kernel would not accept.
inline std::optional<std::uint32_t> evaluate_bpf(std::span<const sock_filter> program,
                                                 const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  std::uint32_t index_register = 0;
  std::uint32_t scratch[16] = {};
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& instruction = program[pc];
    const std::uint32_t operand =
        BPF_SRC(instruction.code) == BPF_X ? index_register : instruction.k;
    switch (BPF_CLASS(instruction.code)) {
      case BPF_LD:
        if (BPF_MODE(instruction.code) == BPF_ABS) {
          if (instruction.k + 4 > sizeof data) return std::nullopt;
          std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + instruction.k, 4);
        } else if (BPF_MODE(instruction.code) == BPF_MEM) {
          accumulator = scratch[instruction.k & 15];
        } else {
          accumulator = instruction.k;
        }
        break;
      case BPF_LDX:
        index_register = instruction.k;
        break;
      case BPF_ST:
        scratch[instruction.k & 15] = accumulator;
        break;
      case BPF_ALU:
        if (BPF_OP(instruction.code) != BPF_AND) return std::nullopt;
        accumulator &= operand;
        break;
      case BPF_JMP: {
        bool taken = true;
        switch (BPF_OP(instruction.code)) {
          case BPF_JA:
            pc += instruction.k;
            continue;
          case BPF_JEQ:
            taken = accumulator == operand;
            break;
          case BPF_JGT:
            taken = accumulator > operand;
            break;
          case BPF_JGE:
            taken = accumulator >= operand;
            break;
          case BPF_JSET:
            taken = (accumulator & operand) != 0;
            break;
          default:
            return std::nullopt;
        }
        pc += taken ? instruction.jt : instruction.jf;
        break;
      }
      case BPF_RET:
        return BPF_RVAL(instruction.code) == BPF_A ? accumulator : instruction.k;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}
