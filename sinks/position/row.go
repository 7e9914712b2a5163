package position

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/controlkey"
)

// attribute holds the position.
const attribute = "position"

// schema is the layout of the rows that this build reads and writes.
func schema() types.AttributeValue { return number(controlkey.Version) }

func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

// decode reads the position in a row; the zero position from no row and from
// one without a position. A row that cannot be read is an error: taking it for
// none would send everything again.
func decode(op string, row item) (event.Position, error) {
	if row == nil {
		return event.Position{}, nil
	}
	wrong := func(err error) (event.Position, error) {
		return event.Position{}, &event.Error{
			Class: event.Permanent, Op: op, Err: err,
			Hint: "the row was written by another build or by hand",
		}
	}
	if n, ok := row[controlkey.Schema].(*types.AttributeValueMemberN); !ok || n.Value != strconv.Itoa(controlkey.Version) {
		return wrong(fmt.Errorf("the row's schema is not %d", controlkey.Version))
	}
	if row[attribute] == nil {
		return event.Position{}, nil
	}
	n, _ := row[attribute].(*types.AttributeValueMemberN)
	if n == nil {
		return wrong(errNoVersion)
	}
	version, err := strconv.ParseUint(n.Value, 10, 63)
	if err != nil || version == 0 {
		return wrong(errNoVersion)
	}
	return event.Position{Version: version}, nil
}

var errNoVersion = errors.New("the row's position is not a whole number from 1 on")
