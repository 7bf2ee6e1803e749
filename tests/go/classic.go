// Lines of hexadecimal URLs go in; for each the classic form comes out in hexadecimal, or "-" where Go cannot parse it.
//
//	classic < urls.hex       classic -version
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
)

func classic(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Del("utm_source")
	q.Del("utm_medium")
	q.Del("ts")
	u.RawQuery = q.Encode()
	u.Fragment = ""
	return strings.ToLower(strings.TrimSuffix(u.String(), "/")), nil
}

func main() {
	if len(os.Args) > 1 {
		fmt.Println(runtime.Version())
		return
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<16), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		text, err := hex.DecodeString(in.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		key, err := classic(string(text))
		if err != nil {
			fmt.Fprintln(out, "-")
		} else {
			fmt.Fprintln(out, hex.EncodeToString([]byte(key)))
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
