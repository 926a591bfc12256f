"""A slow test, as every project has one: long enough to be killed in the middle of."""

import time

from basket.cart import Cart


def test_a_full_basket():
    cart = Cart()
    for _ in range(20):
        cart.add(199, quantity=2)
        time.sleep(0.05)
    assert cart.total() == 20 * 2 * 199
