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

// Mul returns the exact product, or ErrDigits, ErrOverflow or ErrUnderflow
// where the product is no DynamoDB number.
func (d Decimal) Mul(other Decimal) (Decimal, error) {
	if d.digits == "" || other.digits == "" {
		return Decimal{}, nil
	}
	product := new(big.Int).Mul(d.integer(), other.integer())
	digits := product.Text(10)
	// The power of ten of the last digit is the sum of the factors' last ones.
	last := d.exponent - len(d.digits) + 1 + other.exponent - len(other.digits) + 1
	return build(d.negative != other.negative, digits, last+len(digits)-1)
}

// ErrInexact is the quotient that has no end, or none within 38 digits.
const ErrInexact = Error("the quotient has no exact value of at most 38 significant digits")

// errDivision is a division by zero.
const errDivision = Error("division by zero")

// Quo returns the exact quotient, ErrInexact where there is none, or an error
// for a division by zero.
func (d Decimal) Quo(other Decimal) (Decimal, error) {
	switch {
	case other.digits == "":
		return Decimal{}, errDivision
	case d.digits == "":
		return Decimal{}, nil
	}
	// With as many zeros as any exact quotient of 38 digits can need: a divisor
	// of 38 digits has at most 38*log2(10) factors of two or five.
	const zeros = 2 * MaxDigits * 4
	numerator := new(big.Int).Mul(d.integer(), new(big.Int).Exp(big.NewInt(10), big.NewInt(zeros), nil))
	quotient, rest := new(big.Int).QuoRem(numerator, other.integer(), new(big.Int))
	if rest.Sign() != 0 {
		return Decimal{}, ErrInexact
	}
	digits := quotient.Text(10)
	last := d.exponent - len(d.digits) + 1 - (other.exponent - len(other.digits) + 1) - zeros
	result, err := build(d.negative != other.negative, digits, last+len(digits)-1)
	if err == ErrDigits { //nolint:errorlint // build returns it as it is
		return Decimal{}, ErrInexact
	}
	return result, err
}

// integer is the number's digits without sign and exponent.
func (d Decimal) integer() *big.Int {
	n, _ := new(big.Int).SetString(d.digits, 10)
	return n
}
