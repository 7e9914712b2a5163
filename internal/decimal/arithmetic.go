package decimal

import (
	"cmp"
	"math/big"
	"strconv"
)

// Cmp returns -1, 0 or 1 as d is less than, equal to or greater than other.
func (d Decimal) Cmp(other Decimal) int {
	if c := cmp.Compare(d.Sign(), other.Sign()); c != 0 || d.Sign() == 0 {
		return c
	}
	c := cmp.Compare(d.exponent, other.exponent)
	if c == 0 {
		// The digits have no trailing zeros, so text order is numeric order.
		c = cmp.Compare(d.digits, other.digits)
	}
	return c * d.Sign()
}

// Neg returns the number with the other sign.
func (d Decimal) Neg() Decimal {
	d.negative = !d.negative && d.digits != ""
	return d
}

// Add returns the exact sum, or ErrDigits, ErrOverflow or ErrUnderflow where
// the sum is no DynamoDB number.
func (d Decimal) Add(other Decimal) (Decimal, error) {
	// The power of ten of the last digit that either of them has; both are
	// whole multiples of it.
	unit := min(d.unit(), other.unit())
	if d.short(unit) && other.short(unit) {
		// Below 10^18 each, so the sum fits an int64.
		sum := d.scaledShort(unit) + other.scaledShort(unit)
		return sumOf(sum < 0, strconv.FormatInt(max(sum, -sum), 10), unit)
	}
	return d.addLong(other, unit)
}

func (d Decimal) addLong(other Decimal, unit int) (Decimal, error) {
	sum := new(big.Int).Add(d.scaled(unit), other.scaled(unit))
	return sumOf(sum.Sign() < 0, sum.Abs(sum).String(), unit)
}

func sumOf(negative bool, digits string, unit int) (Decimal, error) {
	return build(negative, digits, unit+len(digits)-1)
}

// Sub returns the exact difference; its errors are those of Add.
func (d Decimal) Sub(other Decimal) (Decimal, error) { return d.Add(other.Neg()) }

// unit is the power of ten of the last significant digit.
func (d Decimal) unit() int {
	if d.digits == "" {
		return MaxExponent // zero has no digits to keep
	}
	return d.exponent - len(d.digits) + 1
}

// scaled returns the number in units of 10^unit, which must not be above
// d.unit().
func (d Decimal) scaled(unit int) *big.Int {
	n := new(big.Int)
	if d.digits == "" {
		return n
	}
	n.SetString(d.digits, 10)
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.unit()-unit)), nil))
	if d.negative {
		n.Neg(n)
	}
	return n
}

// short reports whether the number has at most 18 digits in units of 10^unit,
// as nearly all numbers do.
func (d Decimal) short(unit int) bool {
	return d.digits == "" || d.exponent-unit < 18
}

// scaledShort is scaled for a short number, without the price of a big.Int.
func (d Decimal) scaledShort(unit int) int64 {
	var n int64
	for i := range len(d.digits) {
		n = n*10 + int64(d.digits[i]-'0')
	}
	if n != 0 {
		for range d.unit() - unit {
			n *= 10
		}
	}
	if d.negative {
		return -n
	}
	return n
}
