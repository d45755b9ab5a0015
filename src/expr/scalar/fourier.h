// One term of a discrete Fourier transform: a sample, turned by an angle that grows with the bin and with the sample.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

struct FourierTerm {
  Scalar re, im;    // f64; im is null where the samples are real
  Dim bin, sample;  // the sample is turned by -2 pi * bin * sample / length, or by +2 pi … where `inverse`
  Dim length;
  bool inverse = false;
  Scalar is_real;  // where it holds the real part of the term, else the imaginary one; null: the real part everywhere
};
// The angle is taken from bin * sample mod length, so that it stays exact.
Scalar fourier_term(const FourierTerm& t);
// The term that `s` is, where `sample` counts from 0 to length - 1 and `bin` does not use it.
std::optional<FourierTerm> as_fourier_term(Scalar s, SymbolId sample, Dim length);

}  // namespace pliant::expr
