package api_test

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminal is one at which somebody has typed something already. Whoever closes it ends both sides.
func terminal(typed string) (seat *os.File, end func(), err error) {
	desk, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(int(desk.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(desk.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	seat, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _, _ = seat.Close(), desk.Close() }
	_, err = desk.WriteString(typed)
	return seat, end, err
}
