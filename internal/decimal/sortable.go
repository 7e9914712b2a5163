package decimal

// Leading bytes of a sortable key.
const (
	keyNegative = 1
	keyZero     = 2
	keyPositive = 3
)

// AppendSortable appends a key of at most 22 bytes whose byte order is the
// numbers' order. No key is the beginning of another, so more may follow it.
//
// A positive number is its exponent in one byte, its digits two by two as 1 to
// 100, and a closing 0; a negative one is the same with every bit turned.
func (d Decimal) AppendSortable(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, keyZero)
	}
	if d.negative {
		dst = append(dst, keyNegative)
	} else {
		dst = append(dst, keyPositive)
	}
	start := len(dst)
	dst = append(dst, byte(d.exponent-MinExponent)) // the 256 exponents fill a byte
	for i := 0; i < len(d.digits); i += 2 {
		pair := (d.digits[i] - '0') * 10
		if i+1 < len(d.digits) {
			pair += d.digits[i+1] - '0'
		}
		dst = append(dst, pair+1)
	}
	dst = append(dst, 0)
	if d.negative {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}
