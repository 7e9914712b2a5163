package decimal

import (
	"strings"
)

// Limits of a DynamoDB number. The exponents are those of the first
// significant digit, as in scientific notation.
const (
	MaxDigits   = 38
	MaxExponent = 125
	MinExponent = -130
)

// Decimal is a DynamoDB number. The zero value is the number zero. Decimals
// are immutable, safe for concurrent use, and equal under == exactly when
// they are the same number.
type Decimal struct {
	negative bool
	// digits has neither leading nor trailing zeros; zero has none at all.
	digits string
	// exponent is the power of ten of the first digit.
	exponent int
}

// Error is a number that DynamoDB refuses, in its own words.
type Error string

// Error returns DynamoDB's message.
func (e Error) Error() string { return string(e) }

// The limits a number can break.
const (
	ErrDigits    = Error("Attempting to store more than 38 significant digits in a Number")
	ErrOverflow  = Error("Number overflow. Attempting to store a number with magnitude larger than supported range")
	ErrUnderflow = Error("Number underflow. Attempting to store a number with magnitude smaller than supported range")
)

const notNumeric = "The parameter cannot be converted to a numeric value"

// Parse reads a number: an optional sign, digits with an optional point
// before, between or after them, and an optional exponent. Zeros on either
// side do not count as significant digits.
//
// It returns ErrDigits, ErrOverflow, ErrUnderflow, or an Error that quotes a
// text which is no number.
func Parse(text string) (Decimal, error) {
	negative, rest := cutSign(text)
	mantissa, power := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		var ok bool
		if power, ok = parseExponent(rest[i+1:]); !ok {
			return Decimal{}, noNumber(text)
		}
		mantissa = rest[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !allDigits(whole) || !allDigits(fraction) || whole+fraction == "" {
		return Decimal{}, noNumber(text)
	}
	return build(negative, whole+fraction, len(whole)-1+power)
}

// build makes the normal form of digits whose first one, zero or not, stands
// at the given power of ten.
func build(negative bool, digits string, exponent int) (Decimal, error) {
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return Decimal{}, nil
	}
	exponent -= len(digits) - len(significant)
	significant = strings.TrimRight(significant, "0")
	switch {
	case exponent > MaxExponent:
		return Decimal{}, ErrOverflow
	case exponent < MinExponent:
		return Decimal{}, ErrUnderflow
	case len(significant) > MaxDigits:
		return Decimal{}, ErrDigits
	}
	return Decimal{negative: negative, digits: significant, exponent: exponent}, nil
}

func noNumber(text string) error {
	if text == "" {
		return Error(notNumeric)
	}
	return Error(notNumeric + ": " + text)
}

func cutSign(text string) (negative bool, rest string) {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return text[0] == '-', text[1:]
	}
	return false, text
}

// parseExponent stops growing at a million: no number of a size that DynamoDB
// takes can bring such an exponent back into range, and an int that wrapped
// could.
func parseExponent(text string) (int, bool) {
	const enough = 1_000_000
	negative, digits := cutSign(text)
	if digits == "" || !allDigits(digits) {
		return 0, false
	}
	power := 0
	for i := range len(digits) {
		power = min(power*10+int(digits[i]-'0'), enough)
	}
	if negative {
		power = -power
	}
	return power, true
}

func allDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// String returns the one spelling of the number: plain notation without an
// exponent whatever its size, no needless zeros, and no sign on zero. DynamoDB
// answers in plain notation too. The longest text has 170 bytes.
func (d Decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	whole := d.exponent + 1 // digits before the point
	switch {
	case whole <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -whole))
		b.WriteString(d.digits)
	case whole >= len(d.digits):
		b.WriteString(d.digits)
		b.WriteString(strings.Repeat("0", whole-len(d.digits)))
	default:
		b.WriteString(d.digits[:whole])
		b.WriteByte('.')
		b.WriteString(d.digits[whole:])
	}
	return b.String()
}

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
